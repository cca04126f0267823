import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { Approval } from "#contract/approvals.ts";
import { sleeper } from "../host/support/bus.ts";
import { describeOnHost } from "../host/support/session.ts";
import { property } from "../host/support/systemctl.ts";
import type { Browser, Page } from "../process/support/chromium.ts";
import { startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import {
  axeFaults,
  looks,
  type OpenConsole,
  openConsole,
  overflowOf,
  signIn,
  startBrowser,
} from "./support/console.ts";

const slowMs = 60_000;
const missing = hasBrowser() ? undefined : "there is no Chromium";
const longName = `a-service-whose-name-is-as-long-as-generated-names-often-are${"-and-longer".repeat(8)}.service`;
const unit = "worker.service";

describeOnHost("approvals in the console", { missing }, (session) => {
  const workspace = createWorkspace();
  let browser: Browser;
  let open: OpenConsole;
  let page: Page;
  let proposer: string;

  const keyWith = async (name: string, scopes: readonly string[]): Promise<string> =>
    ((await session.api.createKey({ body: { name, scopes: [...scopes] } })) as { key: string }).key;
  /** Makes a call of the proposer, which waits. */
  const propose = async (path: string, body: object = {}, reason = "it hangs"): Promise<Approval> => {
    const headers = { "X-API-Key": proposer, "Content-Type": "application/json", "X-Proposal-Reason": reason };
    const reply = await fetch(`${session.service.url}/api/v1${path}`, {
      ...{ method: "POST", headers, body: JSON.stringify(body) },
    });
    expect(reply.status).toBe(202);
    return (await reply.json()) as Approval;
  };
  const restart = (name = unit): Promise<Approval> => propose(`/system/services/${name}/restart`);
  const mainPid = (): Promise<string> => property(session, unit, "MainPID");
  const drawer = () => page.getByRole("dialog", { name: /^(Restart service|Create key)/ });
  const plan = (doing: string) => page.getByRole("dialog", { name: new RegExp(`^${doing}: `) });
  const press = (name: string) => drawer().getByRole("button", { name, exact: true }).click();
  /** Shows the plan, and has it done. */
  const carryOut = async (doing: string): Promise<void> => {
    await press(doing);
    await plan(doing).getByText("What will be done").waitFor();
    await plan(doing).getByRole("button", { name: doing, exact: true }).click();
    await plan(doing).waitFor({ state: "detached" });
  };
  const wholeInEachLook = async (what: string, of: OpenConsole = open): Promise<void> => {
    for (const look of looks) {
      await of.look(look);
      expect([what, look, await axeFaults(of.page), await overflowOf(of.page)]).toEqual([what, look, [], 0]);
    }
  };

  beforeAll(async () => {
    browser = await startBrowser(workspace);
    await session.writeUnits({ [unit]: sleeper, [longName]: sleeper });
    await session.shell(`systemctl start ${unit} ${longName}`);
    proposer = await keyWith("deploy", [
      "system:read",
      "propose:services:restart",
      "propose:keys:admin",
      "health:read",
    ]);
    open = await openConsole(browser, { url: session.service.url, key: session.service.adminKey, elevated: true });
    ({ page } = open);
    page.setDefaultTimeout(slowMs);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });
  beforeEach(() => open.look({ width: 1280, theme: "light" }));

  it("run once they are given, and the call is done as its plan says", async () => {
    const { id, plan: shown } = await restart();
    const before = await mainPid();
    await open.open(`approvals?id=${id}`);
    await drawer().getByText("It waits for 1 more approval.").waitFor();
    for (const text of [...shown.steps, "services:restart:worker.service"])
      await drawer().getByText(text, { exact: true }).first().waitFor();
    await drawer().getByText(": it hangs").waitFor();
    await drawer().getByLabel("Reason, for the record").fill("looks right");
    await carryOut("Approve");
    await drawer().getByText("worker.service restarted").waitFor();
    await drawer().getByText(": looks right").first().waitFor();
    expect(await mainPid()).not.toBe(before);
    await wholeInEachLook("one that is done");
    await open.open("approvals?status=done");
    await page.getByRole("link", { name: "Restart service: worker.service" }).waitFor();
  });

  it("are denied with a reason, and show it to anyone who has proposed the call", async () => {
    const { id } = await restart();
    const before = await mainPid();
    const own = await openConsole(browser, { url: session.service.url, key: proposer });
    await own.open(`approvals?id=${id}`);
    await open.open("approvals");
    await page.getByRole("link", { name: "Restart service: worker.service" }).click();
    await drawer().getByLabel("Reason, for the record").fill("not today");
    await carryOut("Deny");
    for (const each of [page, own.page]) {
      await each.getByText("admin has denied it.").waitFor();
      await each.getByText(": not today").waitFor();
    }
    expect(await mainPid()).toBe(before);
    await wholeInEachLook("one that is denied", own);
    await own.context.close();
  });

  it("are withdrawn by who has proposed the call, who may not approve it and reads which scope that takes", async () => {
    const { id } = await restart();
    const own = await openConsole(browser, { url: session.service.url, key: proposer, elevated: true });
    await own.open(`approvals?id=${id}`);
    const approve = own.page.getByRole("button", { name: "Approve" });
    await expect.poll(() => approve.getAttribute("aria-disabled")).toBe("true");
    expect(await approve.getAttribute("title")).toContain("with the scope services:restart:worker.service.");
    expect(await own.page.getByRole("button", { name: "Deny" }).count()).toBe(0);
    await wholeInEachLook("an own one", own);
    await own.page.getByRole("button", { name: "Withdraw", exact: true }).click();
    const dialog = own.page.getByRole("dialog", { name: "Withdraw: " });
    await dialog.getByRole("button", { name: "Withdraw", exact: true }).click();
    await own.page.getByText("It was withdrawn by its proposer.").waitFor();
    expect(await session.api.getApproval({ params: { id } })).toMatchObject({ status: "cancelled" });
    await own.context.close();
  });

  it("are decided again where the plan has changed since, with what is new", async () => {
    const { id } = await restart();
    const before = await mainPid();
    await open.open(`approvals?id=${id}`);
    await press("Approve");
    await plan("Approve").getByText("What will be done").waitFor();
    await session.writeUnits({ "assistant.service": ["[Unit]", "PartOf=worker.service", ...sleeper] });
    await session.shell("systemctl start assistant");
    await plan("Approve").getByRole("button", { name: "Approve", exact: true }).click();
    await plan("Approve").getByText("What would be done has changed meanwhile. Look again:").waitFor();
    await plan("Approve")
      .getByText(/^New: restart assistant\.service/)
      .waitFor();
    expect(await mainPid()).toBe(before);
    await wholeInEachLook("a plan that has changed");
    await open.look({ width: 1280, theme: "light" });
    await plan("Approve").getByRole("button", { name: "Approve", exact: true }).click();
    await drawer().getByText("worker.service restarted").waitFor();
    expect(await mainPid()).not.toBe(before);
  });

  it("that somebody else has decided say so, and are not decided again", async () => {
    const { id } = await restart();
    await open.open(`approvals?id=${id}`);
    await press("Approve");
    await plan("Approve").getByText("What will be done").waitFor();
    await session.api.deny({ params: { id }, body: {} });
    await plan("Approve").getByRole("button", { name: "Approve", exact: true }).click();
    await plan("Approve").getByText("cannot decide about it: it is denied already").waitFor();
    await plan("Approve").getByRole("button", { name: "Cancel" }).click();
    await drawer().getByText("admin has denied it.").waitFor();
    expect(await drawer().getByRole("button", { name: "Approve" }).count()).toBe(0);
  });

  it("show a key that was made to the approver, once", async () => {
    const { id } = await propose("/auth/keys", { name: "ci", scopes: ["health:read"] });
    await open.open(`approvals?id=${id}`);
    await carryOut("Approve");
    await drawer().getByText("What is secret in it is not kept: copy it now.").waitFor();
    const { key } = JSON.parse((await drawer().locator(".text-box").textContent()) ?? "") as { key: string };
    expect((await fetch(`${session.service.url}/api/v1/health`, { headers: { "X-API-Key": key } })).status).toBe(200);
    await wholeInEachLook("an answer that is shown once");
    await page.reload();
    await drawer().getByText("It was carried out.").waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it("that a link leads to are shown after the sign-in, and to nobody whom they do not concern", async () => {
    const { id } = await restart(longName);
    const context = await browser.newContext();
    const one = await context.newPage();
    await signIn(one, session.service.url, session.service.adminKey, `approvals?id=${id}`);
    await one.getByRole("dialog", { name: `Restart service: ${longName}` }).waitFor();
    await context.close();
    const reader = await keyWith("reader", ["system:read", "health:read"]);
    const other = await openConsole(browser, { url: session.service.url, key: reader });
    await other.open(`approvals?id=${id}`);
    await other.page.getByText(`cannot find approval ${id}`).waitFor();
    await other.page.getByText("Nothing waits for approval.").waitFor();
    await wholeInEachLook("one that is not shown", other);
    await other.context.close();
    await open.open("approvals");
    await page.getByRole("link", { name: longName }).waitFor();
    await wholeInEachLook("the list");
    await open.open(`approvals?id=${id}`);
    await drawer().getByText("It waits for 1 more approval.").waitFor();
    await wholeInEachLook("one that waits");
  });
});

describe.runIf(hasBrowser())("approvals by two keys in the console", () => {
  const workspace = createWorkspace();
  afterAll(() => workspace.dispose());

  it("are counted, and one key does not give two of them", async () => {
    const settings = "approvals: { require_for: [health:fix], approvers: 2 }\nupdates: { enabled: false }\n";
    const service = await startService(workspace, { settings, environment: { STEWARD_RATE_LIMITS: "off" } });
    const { url } = service;
    const admin = createClient({ url, key: service.adminKey });
    const [proposer = "", second = ""] = await Promise.all(
      ["deploy", "second"].map(async (name) => {
        const scopes = ["health:read", "system:read", "health:fix"];
        return ((await admin.createKey({ body: { name, scopes } })) as { key: string }).key;
      }),
    );
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const silence = createClient({ url, key: proposer }).silenceAlert({ body: { alert: "DiskSpaceLow", until } });
    await expect(silence).rejects.toThrow("the call waits for approval");
    const browser = await startBrowser(workspace);
    const one = await openConsole(browser, { url, key: service.adminKey, elevated: true });
    const other = await openConsole(browser, { url, key: second, elevated: true });
    for (const { page, open } of [one, other]) {
      await open("approvals");
      await page.getByRole("link", { name: "Silence alert" }).click();
      await page.getByRole("dialog").getByText("0 of 2").waitFor();
    }
    const approve = async ({ page }: OpenConsole): Promise<void> => {
      await page.getByRole("button", { name: "Approve" }).click();
      const plan = page.getByRole("dialog", { name: "Approve: " });
      await plan.getByRole("button", { name: "Approve", exact: true }).click();
      await plan.waitFor({ state: "detached" });
    };
    await approve(one);
    for (const { page } of [one, other]) await page.getByText("It waits for 1 more approval.").waitFor();
    const title = await one.page.getByRole("button", { name: "Approve" }).getAttribute("title");
    expect(title).toBe("Your key has approved it: another one has to as well, with the scope health:fix:silences.");
    expect((await admin.listSilences()).silences).toEqual([]);
    await approve(other);
    for (const { page } of [one, other]) await page.getByText("It was carried out.").waitFor();
    expect((await admin.listSilences()).silences).toHaveLength(1);
    await browser.close();
  });
});
