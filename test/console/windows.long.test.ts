import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { Browser } from "../process/support/chromium.ts";
import { type RunningService, startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { axeFaults, looks, openConsole, overflowOf, startBrowser } from "./support/console.ts";

const settings = `
updates: { enabled: false }
health: { checks: {} }
windows: [{ name: freeze, cron: "0 0 1 1 *", duration: 366d, deny: [health:fix] }]
`;

describe.runIf(hasBrowser())("a call that a window holds back, in the console,", () => {
  const workspace = createWorkspace();
  let service: RunningService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startService(workspace, { settings, environment: { STEWARD_RATE_LIMITS: "off" } });
    browser = await startBrowser(workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });

  const silence = async (key: string) => {
    const console = await openConsole(browser, { url: service.url, key, elevated: true });
    await console.open("checks?check=memory");
    await console.page.getByRole("button", { name: "Silence", exact: true }).click();
    const dialog = console.page.getByRole("dialog", { name: "Silence" });
    await dialog.getByText("inside the window freeze, which forbids it").waitFor();
    return { console, dialog, carryOut: dialog.getByRole("button", { name: "Silence", exact: true }) };
  };

  it("is made by who may override it, once they say why", async () => {
    const { console, dialog, carryOut } = await silence(service.adminKey);
    const reason = dialog.getByLabel("Why it is needed now, for the record");
    expect(await carryOut.isDisabled()).toBe(true);
    await reason.fill("die Platte läuft voll");
    await dialog.getByText("In ASCII characters").waitFor();
    expect(await carryOut.isDisabled()).toBe(true);
    for (const look of looks) {
      await console.look(look);
      expect([look, await axeFaults(console.page), await overflowOf(console.page)]).toEqual([look, [], 0]);
    }
    await reason.fill("the disk fills up, #4711");
    await carryOut.click();
    await dialog.getByText("Done.").waitFor();
    const admin = createClient({ url: service.url, key: service.adminKey });
    const { entries } = await admin.listAudit({ query: { operation: "silenceAlert", outcome: "ok" } });
    expect(entries.find((each) => !each.dry_run)?.target).toMatchObject({
      ...{ window: "freeze", window_override: "the disk fills up, #4711" },
    });
    await console.context.close();
  });

  it("is not made by a key without windows:override", async () => {
    const admin = createClient({ url: service.url, key: service.adminKey });
    const scopes = ["health:read", "system:read", "health:fix"];
    const { key } = (await admin.createKey({ body: { name: "fixer", scopes } })) as { key: string };
    const { console, dialog, carryOut } = await silence(key);
    await dialog.getByText("a key with windows:override may say why").waitFor();
    expect(await carryOut.isDisabled()).toBe(true);
    expect(await dialog.getByLabel("Why it is needed now, for the record").count()).toBe(0);
    await console.context.close();
  });
});
