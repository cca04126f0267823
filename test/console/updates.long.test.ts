import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { UpdateApply } from "#contract/updates.ts";
import { updatesOn } from "../host/support/apt-updates.ts";
import { eventually } from "../host/support/eventually.ts";
import { describeOnHost } from "../host/support/session.ts";
import { property } from "../host/support/systemctl.ts";
import type { Browser, Page } from "../process/support/chromium.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import {
  axeFaults,
  elevate,
  looks,
  type OpenConsole,
  openConsole,
  overflowOf,
  startBrowser,
  tabTo,
} from "./support/console.ts";

/** An update takes its time, and this host may have much else to do. */
const slowMs = 240_000;

/** Ticks the box of a plan that has one, and carries the plan out. */
async function carryOut(page: Page, label: string): Promise<void> {
  const dialog = page.getByRole("dialog").last();
  const button = dialog.getByRole("button", { name: label, exact: true });
  await button.waitFor();
  const box = dialog.getByLabel("I have read this and want it done");
  if ((await box.count()) > 0) await box.check();
  await button.click();
}

const missing = hasBrowser() ? undefined : "there is no Chromium";

describeOnHost("updates in the console", { missing }, (session) => {
  const { shell } = session;
  const host = updatesOn(session);
  const { service, api, versionsOf, install, oldOf, begin, ended } = host;
  const workspace = createWorkspace();
  let browser: Browser;
  let open: OpenConsole;
  let page: Page;

  beforeAll(async () => {
    browser = await startBrowser(workspace);
    open = await openConsole(browser, { url: service().url, key: service().adminKey, elevated: true });
    ({ page } = open);
    page.setDefaultTimeout(slowMs);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });
  beforeEach(async () => {
    // It ends after a while.
    if ((await page.getByRole("button", { name: "Get administrative access" }).count()) > 0)
      await elevate(page, service().adminKey);
    await shell("dpkg --purge --force-all gated >/dev/null 2>&1 || true; rm -f /srv/gate /srv/at-gate");
  });

  const stage = (name: string) => page.getByRole("listitem").filter({ hasText: name });
  const operationId = (): string => new URL(page.url()).searchParams.get("operation") ?? "";
  const choose = async (name: string): Promise<void> => {
    await open.open("updates");
    await page.getByLabel(`Choose ${name}`, { exact: true }).check();
    await page.getByRole("button", { name: "Install 1 chosen" }).click();
  };

  it("are installed with guard, through a reload and a restart of the service, and rolled back", async () => {
    await install(oldOf(["gated"]));
    await shell("touch /srv/gate");
    await choose("gated");
    await page.getByRole("dialog").getByText("gated from 1.0 to 1.1").waitFor();
    await carryOut(page, "Install 1 chosen");
    await page.waitForURL(/operation=/);
    const id = operationId();
    await stage("Packages").and(page.locator("[aria-current=step]")).waitFor();
    await eventually(() => shell("test -e /srv/at-gate"));

    await page.reload();
    await stage("Packages").and(page.locator("[aria-current=step]")).waitFor();
    await service().stop();
    await page.getByText("The connection to the service is lost.").waitFor();
    await service().restart();
    await page.getByText("The connection to the service is lost.").waitFor({ state: "detached" });
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.1" });
    await shell("rm /srv/gate");
    await stage("Watch")
      .getByText(/left|almost over/)
      .waitFor();
    await page
      .getByRole("heading", { name: "1 package changed as planned, and nothing is worse than before." })
      .waitFor();
    expect(operationId()).toBe(id);
    const { result, log } = await api().getOperation({ params: { id } });
    const { snapshot_id: snapshot } = result as UpdateApply;
    expect(await page.getByLabel("Log").textContent()).toBe(log.join("\n"));

    await page.getByRole("link", { name: snapshot }).click();
    const drawer = page.getByRole("dialog", { name: `Snapshot ${snapshot}` });
    await drawer.getByRole("cell", { name: "gated" }).waitFor();
    await drawer.getByRole("button", { name: "Roll back" }).click();
    await page.getByRole("dialog").last().getByText("verify the snapshot").waitFor();
    await carryOut(page, "Roll back");
    await page.getByRole("heading", { name: `returned to ${snapshot}` }).waitFor();
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.0" });
    await open.open("packages?tab=history");
    await page.getByRole("region", { name: "History" }).getByText("1 updated: gated").waitFor();
  });

  it("that make the host worse are chosen by the keyboard alone, and shown with what got worse and still is", async () => {
    await install(oldOf(["breaker"]));
    await open.open("updates");
    await page.keyboard.press("/");
    await page.keyboard.type("breaker");
    await page.getByText("library").waitFor({ state: "detached" });
    await tabTo(page, page.getByRole("checkbox", { name: "Choose breaker" }));
    await page.keyboard.press("Space");
    await tabTo(page, page.getByRole("button", { name: "Install 1 chosen" }), "Shift+Tab");
    await page.keyboard.press("Enter");
    const button = page.getByRole("dialog").getByRole("button", { name: "Install 1 chosen" });
    await button.waitFor();
    await tabTo(page, button);
    await page.keyboard.press("Enter");
    await page.waitForURL(/operation=/);
    await page
      .getByRole("heading", {
        name: "The host got worse and was rolled back, but something is still worse than before.",
      })
      .waitFor();
    for (const heading of ["What got worse", "What is still worse"]) {
      const part = page.getByRole("heading", { name: heading }).locator("..");
      await part.getByText("unit peer.service: was active (running), now failed").waitFor();
    }
    expect(await versionsOf(["breaker"])).toEqual({ breaker: "1.0" });
  });

  it("are cancelled on the page of operations before they change anything", async () => {
    const id = await begin({ packages: ["editor"] });
    await eventually(() =>
      shell("systemctl show --property MainPID --value 'steward-task@*' | grep -q '[1-9]'").then(() =>
        shell("systemctl kill --signal STOP 'steward-task@*'"),
      ),
    );
    await open.open(`operations?id=${id}`);
    await page.getByRole("button", { name: "Cancel operation" }).click();
    await carryOut(page, "Cancel operation");
    await shell("systemctl kill --signal CONT 'steward-task@*' || true");
    await ended(id);
    await page.getByRole("heading", { name: "It was cancelled before it changed anything." }).waitFor();
    expect(await versionsOf(["editor"])).toEqual({ editor: "1.0" });
  });

  it("that a key may only propose wait for another, and are followed from their approval", async () => {
    await install(oldOf(["gated"]));
    await shell("touch /srv/gate");
    const scopes = ["viewer", "propose:updates:apply"];
    const { key } = (await api().createKey({ body: { name: "deploy", scopes } })) as { key: string };
    const proposer = await openConsole(browser, { url: service().url, key, elevated: true });
    await proposer.open("updates");
    await proposer.page.getByLabel("Choose gated", { exact: true }).check();
    await proposer.page.getByRole("button", { name: "Install 1 chosen" }).click();
    await proposer.page.getByText("Another person has to approve it.").waitFor();
    await carryOut(proposer.page, "Install 1 chosen");
    await proposer.page.getByRole("link", { name: "Show the approval" }).click();
    await proposer.page.getByRole("dialog", { name: "Apply updates" }).waitFor();

    await page.goto(proposer.page.url());
    const approval = page.getByRole("dialog", { name: "Apply updates" });
    await approval.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("dialog", { name: "Approve: " }).getByText("gated from 1.0 to 1.1").waitFor();
    await carryOut(page, "Approve");
    for (const each of [page, proposer.page]) await each.getByText("It is being carried out.").waitFor();
    await eventually(() => shell("test -e /srv/at-gate"));
    expect(await axeFaults(page)).toEqual([]);
    await shell("rm /srv/gate");
    for (const each of [page, proposer.page])
      await each.getByText("done", { exact: true }).waitFor({ timeout: slowMs });
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.1" });
    const { operation_id: id } = await api().getApproval({
      params: { id: new URL(page.url()).searchParams.get("id") ?? "" },
    });
    await approval.getByRole("link", { name: id ?? "" }).click();
    await page.getByRole("heading", { name: "1 package changed as planned" }).waitFor();
    await proposer.context.close();
  });

  it("leave packages alone that are held by their page", async () => {
    await open.open("packages?search=editor");
    await page.getByRole("button", { name: "editor", exact: true }).click();
    const drawer = page.getByRole("dialog", { name: "editor" });
    await drawer.getByRole("button", { name: "Hold", exact: true }).click();
    await carryOut(page, "Hold");
    await eventually(async () => expect(await shell("apt-mark showhold")).toBe("editor\n"));
    await page.keyboard.press("Escape");
    await drawer.getByRole("button", { name: "Unhold", exact: true }).click();
    await carryOut(page, "Unhold");
    await eventually(async () => expect(await shell("apt-mark showhold")).toBe(""));
  });

  it("that need a reboot are followed by one at a time, which can be cancelled", async () => {
    await open.open("updates");
    await page.getByRole("button", { name: "Reboot", exact: true }).click();
    const later = new Date(Date.now() + 3_600_000);
    const local = new Date(later.getTime() - later.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
    await page.getByLabel("When (empty: now)").fill(local);
    await page.getByRole("dialog").getByText("reboot at").waitFor();
    await carryOut(page, "Reboot");
    await eventually(async () => expect((await api().getReboot()).scheduled_at).not.toBeNull());
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Cancel reboot" }).click();
    await carryOut(page, "Cancel reboot");
    await eventually(async () => expect((await api().getReboot()).scheduled_at).toBeNull());
  });

  it("have packages that are installed by keyboard, and held, let go, removed and purged by mouse", async () => {
    const config = () => shell("cat /etc/configured.conf 2>/dev/null || true");
    await open.open("packages");
    await page.keyboard.press("/");
    await page.keyboard.type("configured");
    const found = page.getByRole("button", { name: "configured", exact: true });
    await tabTo(page, found);
    await page.keyboard.press("Enter");
    const drawer = page.getByRole("dialog", { name: "configured", exact: true });
    const button = (name: string) => drawer.getByRole("button", { name, exact: true });
    const plan = (title: string) => page.getByRole("dialog", { name: title, exact: true });
    await tabTo(page, button("Install"));
    await page.keyboard.press("Enter");
    const installed = plan("Install configured");
    await tabTo(page, installed.getByRole("button", { name: "Install", exact: true }));
    expect(await config()).toBe("");
    await page.keyboard.press("Enter");
    await installed.locator(".hint.ok").waitFor();
    expect(await versionsOf(["configured"])).toEqual({ configured: "1.1" });
    await page.keyboard.press("Escape");

    await button("Hold").click();
    await carryOut(page, "Hold");
    await page.keyboard.press("Escape");
    await button("Unhold").waitFor();
    expect(await shell("apt-mark showhold")).toBe("configured\n");
    await button("Unhold").click();
    await carryOut(page, "Unhold");
    await page.keyboard.press("Escape");
    await button("Hold").waitFor();
    await button("Remove").click();
    await carryOut(page, "Remove");
    await plan("Remove configured, and keep its configuration").locator(".hint.ok").waitFor();
    expect(await shell("test -e /usr/share/configured || echo gone")).toBe("gone\n");
    expect(await config()).toBe("version = 1.1\n");
    await page.keyboard.press("Escape");
    await button("Purge").click();
    await carryOut(page, "Purge");
    await plan("Remove configured and its configuration").locator(".hint.ok").waitFor();
    expect(await config()).toBe("");
    await page.keyboard.press("Escape");
    await button("Install").waitFor();
  });

  it("can be returned from by a snapshot that is taken by keyboard, shown with what a file had in it, and deleted", async () => {
    await session.host.writeFile("/etc/told.conf", "colour = red\nsize = 1\n", 0o644);
    await open.open("updates?tab=snapshots");
    await tabTo(page, page.getByRole("button", { name: "Take a snapshot", exact: true }));
    await page.keyboard.press("Enter");
    const taking = page.getByRole("dialog", { name: "Take a snapshot" });
    await tabTo(page, taking.getByLabel("What it is for"));
    const planned = page.waitForResponse((each) => each.request().postData()?.includes("before the colours") === true);
    await page.keyboard.type("before the colours");
    await planned;
    await tabTo(page, taking.getByRole("button", { name: "Take a snapshot", exact: true }));
    await page.keyboard.press("Enter");
    await taking.locator(".hint.ok").waitFor();
    await page.keyboard.press("Escape");
    const taken = (await api().listSnapshots()).snapshots.find(
      ({ description }) => description === "before the colours",
    );
    const id = taken?.id ?? "";

    await session.host.writeFile("/etc/told.conf", "colour = blue\nsize = 1\n", 0o644);
    await page.getByRole("button", { name: `Snapshot ${id}` }).click();
    const drawer = page.getByRole("dialog", { name: `Snapshot ${id}`, exact: true });
    await drawer.getByRole("button", { name: "/etc/told.conf", exact: true }).click();
    const difference = drawer.getByLabel("What has changed in /etc/told.conf");
    await difference.waitFor();
    const lines = ((await difference.textContent()) ?? "").split("\n");
    expect(lines).toEqual(expect.arrayContaining(["-colour = red", "+colour = blue", " size = 1"]));
    expect(await axeFaults(page)).toEqual([]);
    await drawer.getByRole("button", { name: "Back to all changes" }).click();
    await drawer.getByRole("button", { name: "/etc/told.conf", exact: true }).waitFor();
    await drawer.getByRole("button", { name: "Delete", exact: true }).click();
    await carryOut(page, "Delete");
    await drawer.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: `Snapshot ${id}` }).waitFor({ state: "detached" });
    expect((await api().listSnapshots()).snapshots.map((each) => each.id)).not.toContain(id);
  });

  it("leave services with replaced code, which are restarted from their page", async () => {
    await shell("cp /usr/bin/sleep /usr/bin/renewed");
    await session.writeUnits({ "web.service": ["[Service]", "Type=exec", "ExecStart=/usr/bin/renewed infinity"] });
    await shell(
      "systemctl start web && cp /usr/bin/sleep /usr/bin/renewed.new && mv /usr/bin/renewed.new /usr/bin/renewed",
    );
    const before = await property(session, "web.service", "MainPID");
    await open.open("updates");
    await page.getByRole("definition").filter({ hasText: "web.service" }).waitFor();
    await page.getByRole("button", { name: "Restart services" }).click();
    await page.getByRole("dialog").getByText("restart web.service").waitFor();
    expect(await property(session, "web.service", "MainPID")).toBe(before);
    await carryOut(page, "Restart services");
    await page.waitForURL(/operation=/);
    await page
      .getByRole("definition")
      .filter({ hasText: /^restarted$/ })
      .first()
      .waitFor();
    expect(await property(session, "web.service", "MainPID")).not.toBe(before);
    expect((await api().listStale()).restartable).not.toContain("web.service");
  });

  it("name the scope that a key lacks", async () => {
    const { key } = (await api().createKey({
      body: { name: "reader", scopes: ["updates:read", "system:read", "health:read"] },
    })) as { key: string };
    const reader = await openConsole(browser, { url: service().url, key });
    await reader.open("updates");
    const button = reader.page.getByRole("button", { name: /^Install updates/ });
    await expect.poll(() => button.getAttribute("title")).toBe("Your key lacks the scope updates:apply.");
    await reader.open("packages");
    await reader.page.getByText("Your key lacks the scope packages:read.").waitFor();
    await reader.context.close();
  });

  it("are followed on their page through a loss of power, and a reboot that the page begins", async () => {
    await install(oldOf(["gated"]));
    await shell("touch /srv/gate");
    await choose("gated");
    // Units that are not enabled do not run after a boot, which a guard would undo.
    await page.getByRole("dialog").getByLabel("Watch units, ports and checks afterwards").uncheck();
    await carryOut(page, "Install 1 chosen");
    await page.waitForURL(/operation=/);
    const id = operationId();
    await eventually(() => shell("test -e /srv/at-gate"), 60_000);
    const lost = page.getByText("The connection to the service is lost.");
    await session.host.losePower();
    await lost.waitFor();
    await shell("rm /srv/gate");
    await service().restart();
    await page.getByRole("heading", { name: "1 package changed as planned." }).waitFor();
    await lost.waitFor({ state: "detached" });
    expect(operationId()).toBe(id);
    expect(await versionsOf(["gated"])).toEqual({ gated: "1.1" });

    const bootId = () => shell("cat /proc/sys/kernel/random/boot_id");
    const before = await bootId();
    await open.open("updates");
    await page.getByRole("button", { name: "Reboot", exact: true }).click();
    const up = session.host.nextBoot(slowMs);
    await carryOut(page, "Reboot");
    await up;
    await lost.waitFor();
    expect(await bootId()).not.toBe(before);
    await service().restart();
    await lost.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Reboot", exact: true }).waitFor();
  });

  describe("on each page", () => {
    let pages: Readonly<Record<string, string>>;

    beforeAll(async () => {
      const { operations } = await api().listOperations({});
      const { snapshots } = await api().listSnapshots();
      const rolledBack = operations.find(
        ({ kind, result }) => kind === "updates.apply" && !(result as UpdateApply | null)?.success,
      );
      pages = {
        updates: "updates",
        security: "updates?only=security",
        noMatch: "updates?q=nothing-is-called-so",
        verdict: `updates?operation=${rolledBack?.id}`,
        snapshots: "updates?tab=snapshots",
        snapshot: `updates?tab=snapshots&snapshot=${snapshots.at(-1)?.id}`,
        packages: "packages",
        none: "packages?search=nothing-is-called-so",
        package: "packages?package=libc6",
        missing: "packages?package=nothing-is-called-so",
        history: "packages?tab=history",
        operations: "operations",
        unknown: "operations?id=unknown",
      };
    });

    it.each(looks)("are whole at $width in $theme colours", async (look) => {
      await open.look(look);
      const before = open.faults.length;
      const found: Record<string, readonly string[]> = {};
      for (const [name, path] of Object.entries(pages)) {
        await open.open(path);
        const overflow = await overflowOf(page);
        const faults = [...(await axeFaults(page)), ...(overflow > 0 ? [`${overflow} px wider than the window`] : [])];
        if (faults.length > 0) found[name] = faults;
      }
      // What is not there is asked for, too.
      const unexpected = open.faults.slice(before).filter((fault) => !fault.includes("status of 404"));
      expect([found, unexpected]).toEqual([{}, []]);
    });
  });
});
