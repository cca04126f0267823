import { afterAll, beforeAll, expect, it } from "vitest";
import { axeFaults, elevate, openConsole, startBrowser } from "../console/support/console.ts";
import type { Browser } from "../process/support/chromium.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { sleeper } from "./support/bus.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

describeOnHost("the console of a host", { checks: ["systemd_failed"] }, (session) => {
  const workspace = createWorkspace();
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser(workspace);
    await session.writeUnits({
      "worker.service": sleeper,
      "broken.service": ["[Service]", "ExecStart=/bin/false"],
    });
    await session.shell("systemctl start worker; systemctl start broken");
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });
  const open = (key = session.service.adminKey) => openConsole(browser, { url: session.service.url, key });

  it("restarts a service by its plan, and not without administrative access", async () => {
    const { page, context, open: to, faults } = await open();
    const before = await property(session, "worker.service", "MainPID");
    await to("services?unit=worker.service");
    await page.getByRole("button", { name: "Restart", exact: true }).click();
    const elevation = page.getByRole("dialog", { name: "Administrative access" });
    await elevation.getByLabel("Key or code").fill(session.service.adminKey);
    await elevation.getByRole("button", { name: "Get administrative access" }).click();
    const dialog = page.getByRole("dialog", { name: /Restart/ });
    await dialog.getByText("What will be done").waitFor();
    expect(await property(session, "worker.service", "MainPID")).toBe(before);
    expect(await axeFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Restart", exact: true }).click();
    await dialog.getByText("worker.service restarted").waitFor();
    expect(await property(session, "worker.service", "MainPID")).not.toBe(before);
    expect(faults).toEqual([]);
    await context.close();
  });

  it("fixes what a check has found, by the plan of the fix", async () => {
    await session.api.getCheck({ params: { check_id: "systemd_failed" } });
    const { page, context, open: to } = await open();
    await elevate(page, session.service.adminKey);
    await to("");
    await page.getByText("1 check fails: ").waitFor();
    await page.getByRole("button", { name: "Fix", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("What will be done").waitFor();
    await session.shell("sed -i 's,/bin/false,/bin/sleep infinity,' /etc/systemd/system/broken.service");
    await session.shell("systemctl daemon-reload");
    await dialog.getByRole("button", { name: "Fix", exact: true }).click();
    await dialog.locator(".hint.ok").waitFor();
    expect(await property(session, "broken.service", "ActiveState")).toBe("active");
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await page.getByText("All is well: no check fails or warns.").waitFor();
    await context.close();
  });

  it("follows the journal, and finds an entry by its address", async () => {
    const { page, context, open: to } = await open();
    await to("logs");
    await page.getByRole("button", { name: "Live" }).click();
    await session.shell("logger -t probe a line from the host");
    await page.getByRole("option", { name: /a line from the host/ }).click();
    await page.getByText("SYSLOG_IDENTIFIER").first().waitFor();
    expect(page.url()).toContain("entry=");
    await page.reload();
    await page.getByText("SYSLOG_IDENTIFIER").first().waitFor();
    await context.close();
  });

  it("offers a narrowed key what it may do, and names what it lacks", async () => {
    const { key } = (await session.api.createKey({
      body: { name: "worker", scopes: ["system:read", "health:read", "services:restart:worker.service"] },
    })) as { key: string };
    const { page, context, open: to } = await open(key);
    await to("services?unit=worker.service");
    const button = (name: string) => page.getByRole("dialog").getByRole("button", { name });
    await expect.poll(() => button("Restart").getAttribute("aria-disabled")).toBe("false");
    const titleOf = (name: string) => expect.poll(() => button(name).getAttribute("title"));
    await titleOf("Stop").toBe("Your key lacks the scope services:stop.");
    await to("services?unit=cron.service");
    await titleOf("Restart").toBe("Your key lacks the scope services:restart.");
    await context.close();
  });
});
