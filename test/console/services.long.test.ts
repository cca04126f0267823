import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { checkMeanings } from "#contract/check-meanings.generated.ts";
import { eventually } from "../host/support/eventually.ts";
import { describeOnHost } from "../host/support/session.ts";
import { property } from "../host/support/systemctl.ts";
import type { Browser, Page } from "../process/support/chromium.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { axeFaults, looks, type OpenConsole, openConsole, overflowOf, startBrowser, tabTo } from "./support/console.ts";

const slowMs = 60_000;
const longName = "a-service-whose-name-is-longer-than-any-column-would-like@instance-0123456789.service";
const sleeper = [
  "[Service]",
  "ExecStart=/bin/sleep infinity",
  "ExecReload=/bin/true",
  "[Install]",
  "WantedBy=multi-user.target",
];
const missing = hasBrowser() ? undefined : "there is no Chromium";

type Locator = ReturnType<Page["locator"]>;

describeOnHost(
  "services, checks and processes in the console",
  { missing, checks: ["systemd_failed", "memory", "disk_space"] },
  (session) => {
    const workspace = createWorkspace();
    let browser: Browser;
    let open: OpenConsole;
    let page: Page;

    beforeAll(async () => {
      await session.writeUnits({
        "crashing.service": ["[Service]", "ExecStart=/bin/sh -c 'echo the port is taken >&2; exit 3'"],
        "repaired.service": [
          "[Service]",
          "Type=oneshot",
          "RemainAfterExit=yes",
          "ExecStart=/bin/sh -c '[ -e /run/repaired ]'",
        ],
        "napper.service": sleeper,
        "keyed.service": sleeper,
        "asked.service": sleeper,
        "nightly.timer": ["[Timer]", "OnCalendar=*-*-* 03:00", "Unit=napper.service"],
        [longName.replace("@instance-0123456789", "@")]: sleeper,
      });
      await session.shell(
        `systemctl start crashing napper keyed asked nightly.timer ${longName}; systemctl start repaired || true`,
      );
      browser = await startBrowser(workspace);
      const { url, adminKey: key } = session.service;
      open = await openConsole(browser, { url, key, elevated: true });
      ({ page } = open);
      page.setDefaultTimeout(slowMs);
    });
    afterAll(async () => {
      await browser?.close();
      await workspace.dispose();
    });
    beforeEach(() => open.look({ width: 1280, theme: "light" }));

    const dialog = (name: string): Locator => page.getByRole("dialog", { name, exact: true });
    const mainPid = async (unit: string) => Number(await property(session, unit, "MainPID"));
    const carryOut = async (title: string, button: string): Promise<void> => {
      await dialog(title).getByRole("button", { name: button, exact: true }).click();
      await dialog(title).locator(".hint.ok").waitFor();
      await dialog(title).getByText("Close", { exact: true }).click();
    };

    describe("services", () => {
      it("that have failed come first, and one says why with its exit and its log", async () => {
        await open.open("services");
        const first = page.locator("tbody tr").first();
        await expect.poll(() => first.textContent()).toContain("failed");
        await page.getByRole("searchbox").fill("crash");
        await page.getByRole("link", { name: "crashing", exact: true }).click();
        const drawer = dialog("crashing.service");
        await drawer.getByText("It failed: exit-code (status=3").waitFor();
        await drawer.getByText("the port is taken").last().waitFor();
        expect(new URL(page.url()).searchParams.get("unit")).toBe("crashing.service");
        await page.reload();
        await drawer.getByText("It failed: exit-code").waitFor();
      });

      it("are counted by state, and those of the other kinds say what starts them", async () => {
        await open.open("services?state=failed");
        await page.getByRole("link", { name: "crashing", exact: true }).waitFor();
        await page.getByRole("link", { name: "napper", exact: true }).waitFor({ state: "detached" });
        await page.getByRole("button", { name: "Timers" }).click();
        await page.getByRole("link", { name: "nightly.timer" }).waitFor();
        await page.getByRole("link", { name: "napper.service" }).click();
        await dialog("napper.service").getByRole("link", { name: "nightly.timer" }).waitFor();
      });

      it("are stopped, started and enabled by mouse, each after its plan", async () => {
        await open.open("services?unit=napper.service");
        const drawer = dialog("napper.service");
        await drawer.getByRole("button", { name: "Stop", exact: true }).click();
        // Here systemd's word is the proof, and the plan comes before anything is done.
        await dialog("Stop napper.service").getByRole("listitem").first().waitFor();
        expect(await property(session, "napper.service", "ActiveState")).toBe("active");
        await carryOut("Stop napper.service", "Stop");
        expect(await property(session, "napper.service", "ActiveState")).toBe("inactive");
        await drawer.getByRole("button", { name: "Start", exact: true }).click();
        await carryOut("Start napper.service", "Start");
        expect(await property(session, "napper.service", "ActiveState")).toBe("active");
        await drawer.getByRole("button", { name: "Enable", exact: true }).click();
        await carryOut("Enable napper.service", "Enable");
        await drawer.getByRole("button", { name: "Disable", exact: true }).waitFor();
        expect(await property(session, "napper.service", "UnitFileState")).toBe("enabled");
        await drawer.getByText("Ask a language model", { exact: true }).click();
        await drawer.getByText("No language model is configured").waitFor();
      });

      it("are found and restarted by keyboard alone, and the focus comes back", async () => {
        await open.open("services");
        const before = await mainPid("keyed.service");
        await page.keyboard.press("/");
        await page.keyboard.type("keyed");
        await page.keyboard.press("Enter");
        const link = page.getByRole("link", { name: "keyed", exact: true });
        await tabTo(page, link);
        await page.keyboard.press("Enter");
        await tabTo(page, dialog("keyed.service").getByRole("button", { name: "Restart", exact: true }));
        await page.keyboard.press("Enter");
        const confirm = dialog("Restart keyed.service").getByRole("button", { name: "Restart", exact: true });
        await tabTo(page, confirm);
        await page.keyboard.press("Enter");
        await dialog("Restart keyed.service").locator(".hint.ok").waitFor();
        expect(await mainPid("keyed.service")).not.toBe(before);
        await page.keyboard.press("Escape");
        await dialog("Restart keyed.service").waitFor({ state: "detached" });
        await page.keyboard.press("Escape");
        await dialog("keyed.service").waitFor({ state: "detached" });
        expect(await link.evaluate((element) => element === document.activeElement)).toBe(true);
      });

      it("say who restarted them, however much has been changed since", async () => {
        const deploy = (await session.api.createKey({ body: { name: "deploy", scopes: ["services:restart"] } })) as {
          key: string;
        };
        const { url } = session.service;
        await createClient({ url, key: deploy.key }).restartService({ params: { name: "asked" }, body: {} });
        for (let times = 0; times < 10; times += 1)
          await session.api.reloadService({ params: { name: "napper.service" } });
        await open.open("");
        const change = page.getByText("restart service: asked (deploy)");
        await page.getByText("reload service: napper.service (").first().waitFor();
        expect(await change.count()).toBe(0);
        await page.getByRole("button", { name: /^Show \d+ older$/ }).click();
        await change.waitFor();
        await open.open("services?unit=asked.service");
        await dialog("asked.service").getByText("restart service: asked (deploy)").waitFor();
        await dialog("asked.service").getByText("napper").waitFor({ state: "detached" });
      });

      it("that sessions depend on are restarted once the risk is confirmed below the plan", async () => {
        const before = await mainPid("systemd-logind.service");
        await open.open("services?unit=systemd-logind.service");
        await dialog("systemd-logind.service").getByRole("button", { name: "Restart", exact: true }).click();
        const plan = dialog("Restart systemd-logind.service");
        const button = plan.getByRole("button", { name: "Restart", exact: true });
        await button.waitFor();
        expect(await button.isDisabled()).toBe(true);
        await plan.getByRole("checkbox").check();
        await carryOut("Restart systemd-logind.service", "Restart");
        expect(await mainPid("systemd-logind.service")).not.toBe(before);
      });
    });

    describe("checks", () => {
      it("are by category with what fails first; one says what it means, runs, and is fixed after its plan", async () => {
        await session.shell("touch /run/repaired");
        await open.open("checks");
        await page.getByRole("link", { name: "Failed units" }).click();
        const drawer = dialog("Failed units");
        await drawer.getByText(checkMeanings.systemd_failed.meaning).waitFor();
        await drawer.getByRole("img", { name: /^Last 30 days: / }).waitFor();
        await drawer.getByRole("cell", { name: "crashing.service" }).waitFor();
        await session.shell("systemctl reset-failed crashing");
        await drawer.getByRole("button", { name: "Run now" }).click();
        await drawer.getByRole("cell", { name: "crashing.service" }).waitFor({ state: "detached" });
        await drawer.getByRole("button", { name: "Fix", exact: true }).click();
        await carryOut("Fix Failed units", "Fix");
        await drawer.getByText("passes", { exact: true }).first().waitFor();
        expect(await property(session, "repaired.service", "ActiveState")).toBe("active");
      });

      it("have their runbooks, those of this host first, in which nothing is markup of HTML", async () => {
        const text =
          "---\ntitle: Of this host\napplies_to:\n  - check: memory\n---\n\nAsk **Ada**, at [the wiki](https://wiki.example.org/) <img src=x>.\n";
        await session.shell("mkdir -p /etc/steward/runbooks");
        await session.host.writeFile("/etc/steward/runbooks/memory-here.md", text);
        await session.host.writeFile("/etc/steward/runbooks/old.md", "no header\n");
        await open.open("checks?check=memory");
        const drawer = dialog("Memory");
        await drawer.getByText("/etc/steward/runbooks/old.md").waitFor();
        const titles = await drawer.locator("summary", { hasText: "Runbook" }).allTextContents();
        expect(titles).toEqual(["Runbook: Of this host", "Runbook: Little memory is available"]);
        for (const title of titles) await drawer.getByText(title, { exact: true }).click();
        await drawer.getByText("<img src=x>").waitFor();
        const link = drawer.getByRole("link", { name: "the wiki" });
        expect([await link.getAttribute("href"), await link.getAttribute("rel")]).toEqual([
          "https://wiki.example.org/",
          "noopener noreferrer",
        ]);
        await drawer.getByRole("heading", { name: "What not to do" }).waitFor();
        expect([await drawer.locator("img").count(), await axeFaults(page), await overflowOf(page)]).toEqual([
          0,
          [],
          0,
        ]);
      });

      it("stay on the page when they are asked for again while an answer arrives", async () => {
        await open.open("checks?check=memory");
        const runNow = dialog("Memory").getByRole("button", { name: "Run now", exact: true });
        await runNow.waitFor();
        const drawer = await dialog("Memory").elementHandle();
        await page.evaluate(() => {
          const { fetch } = globalThis;
          const asked: string[] = [];
          Object.assign(globalThis, { asked });
          // The first answer never ends.
          globalThis.fetch = async (input, init) => {
            const answer = await fetch(input, init);
            if (!answer.url.endsWith("/health/checks") || asked.push(answer.url) > 1) return answer;
            const stop = init?.signal;
            const body = new ReadableStream({
              start: (stream) => stop?.addEventListener("abort", () => stream.error(stop.reason)),
            });
            return new Response(body, answer);
          };
        });
        const isAsked = (times: number) =>
          page.waitForFunction((count) => (globalThis as unknown as { asked: string[] }).asked.length >= count, times);
        await runNow.click();
        await isAsked(1);
        await runNow.click();
        await isAsked(2);
        await dialog("Memory").getByText("passes", { exact: true }).first().waitFor();
        expect(await drawer?.evaluate((element) => element.isConnected)).toBe(true);
      });

      it("are silenced by keyboard alone, and the silence is ended", async () => {
        await open.open("checks");
        await page.keyboard.press("/");
        await page.keyboard.type("memory");
        await page.keyboard.press("Enter");
        await tabTo(page, page.getByRole("link", { name: "Memory", exact: true }));
        await page.keyboard.press("Enter");
        const drawer = dialog("Memory");
        await tabTo(page, drawer.getByRole("button", { name: "Silence", exact: true }));
        await page.keyboard.press("Enter");
        const button = dialog("Silence Memory").getByRole("button", { name: "Silence", exact: true });
        await tabTo(page, button);
        await page.keyboard.press("Enter");
        await drawer.getByText("Silenced by").waitFor();
        expect((await session.api.listSilences()).silences).toMatchObject([{ check: "memory" }]);
        await page.keyboard.press("Escape");
        await drawer.getByRole("button", { name: "End the silence" }).click();
        await dialog("End the silence").getByRole("button", { name: "End the silence" }).click();
        await eventually(async () => expect((await session.api.listSilences()).silences).toEqual([]));
      });
    });

    describe("processes", () => {
      it("that run away are found and ended by mouse", async () => {
        await session.shell("systemd-run --unit runaway sh -c 'while :; do :; done'");
        const pid = await mainPid("runaway.service");
        await open.open("processes");
        await expect
          .poll(() => page.locator("tbody tr").first().textContent(), { timeout: slowMs })
          .toContain(String(pid));
        await page.locator("tbody tr").first().getByRole("link").first().click();
        const drawer = dialog(`sh (${pid})`);
        await drawer.getByRole("link", { name: "runaway.service" }).waitFor();
        await drawer.getByRole("button", { name: "End", exact: true }).click();
        await carryOut(`End sh (${pid}) by SIGTERM`, "End");
        await page.getByText(`There is no process ${pid}`).waitFor();
        expect(await property(session, "runaway.service", "ActiveState")).toBe("inactive");
      });

      it("are found in the tree and sent another signal by keyboard alone", async () => {
        await session.shell("systemd-run --unit held sleep 4711");
        const pid = await mainPid("held.service");
        await open.open("processes?view=tree");
        await page.keyboard.press("/");
        await page.keyboard.type("sleep 4711");
        await page.keyboard.press("Enter");
        // Other programs have that name too, until the filter holds.
        await eventually(async () =>
          expect(await page.getByRole("link", { name: "sleep", exact: true }).count()).toBe(1),
        );
        await tabTo(page, page.getByRole("link", { name: "sleep", exact: true }));
        await page.keyboard.press("Enter");
        await tabTo(page, dialog(`sleep (${pid})`).getByRole("button", { name: "Send signal" }));
        await page.keyboard.press("Enter");
        const plan = dialog(`Send a signal to sleep (${pid})`);
        await tabTo(page, plan.getByRole("combobox"));
        await page.keyboard.type("STOP");
        const button = plan.getByRole("button", { name: "Send signal" });
        await plan.getByText("SIGSTOP").first().waitFor();
        await tabTo(page, button);
        await page.keyboard.press("Enter");
        await plan.locator(".hint.ok").waitFor();
        expect(await session.shell(`ps -o stat= -p ${pid}`)).toMatch(/^T/);
        await session.shell("systemctl kill --signal=KILL held");
      });

      it("are folded in the tree with all that is below them, by mouse and by keyboard, and stay so", async () => {
        await session.shell("systemd-run --unit branch sh -c 'sh -c \"sleep 4712; :\" & sleep 4713; wait'");
        const pid = await mainPid("branch.service");
        const names = async () => (await page.locator("tbody tr a").allTextContents()).toSorted();
        await open.open("processes?view=tree&unit=branch.service");
        const fold = page.getByRole("button", { name: `processes below sh (${pid})` });
        await eventually(async () => expect(await names()).toEqual(["sh", "sh", "sleep", "sleep"]));
        await fold.click();
        await eventually(async () => expect(await names()).toEqual(["sh"]));
        expect(await fold.getAttribute("aria-expanded")).toBe("false");
        expect(await fold.textContent()).toBe(`+3 processes below sh (${pid})`);
        expect(await axeFaults(page)).toEqual([]);
        await page.reload();
        await fold.waitFor();
        expect(await names()).toEqual(["sh"]);
        await tabTo(page, fold);
        await page.keyboard.press("Enter");
        await eventually(async () => expect(await names()).toEqual(["sh", "sh", "sleep", "sleep"]));
        expect(new URL(page.url()).searchParams.has("fold")).toBe(false);
        await session.shell("systemctl stop branch");
      });

      it("are summed by unit, and thousands of them are shown when they are asked for", async () => {
        await session.shell(
          "systemd-run --unit crowd -p TasksMax=2000 sh -c 'for n in $(seq 700); do sleep 9999 & done; wait'",
        );
        await open.open("processes?view=units");
        const row = page.getByRole("row").filter({ hasText: "crowd.service" });
        await expect.poll(() => row.textContent(), { timeout: slowMs }).toContain("701");
        await row.getByRole("link").click();
        await page.getByRole("button", { name: "Show all 701" }).click();
        await expect.poll(() => page.locator("tbody tr").count()).toBe(701);
      });
    });

    it("figures of a check are drawn with the thresholds that the service says it has", async () => {
      const { thresholds } = await session.api.getCheck({ params: { check_id: "memory" } });
      expect(thresholds).toEqual({ percent_used: { warn: 85, fail: 95 } });
      await open.open("checks?check=memory");
      // There is a line once it has run in two minutes.
      const chart = page.getByRole("dialog").locator(".card").filter({ hasText: "percent used" });
      await chart.getByText("warns at 85 %").waitFor({ timeout: 4 * slowMs });
      await chart.getByText("fails at 95 %").waitFor();
      expect(await chart.getByRole("img", { name: /^percent used: \d/ }).count()).toBe(1);
      expect(await axeFaults(page)).toEqual([]);
    });

    it("a key that may only read finds its buttons disabled with the scope, and what it may not read said", async () => {
      const body = { name: "reader", scopes: ["system:read"] };
      const { key } = (await session.api.createKey({ body })) as { key: string };
      const { url } = session.service;
      const narrow = await openConsole(browser, { url, key });
      narrow.page.setDefaultTimeout(slowMs);
      await narrow.open("services?unit=napper.service");
      const restart = narrow.page.getByRole("button", { name: "Restart (Your key lacks the scope services:restart.)" });
      await restart.waitFor();
      expect(await restart.getAttribute("aria-disabled")).toBe("true");
      await narrow.page.goto(`${url}/console/processes`);
      await narrow.page.getByText("Your key lacks the scope processes:read.").waitFor();
      await narrow.page.goto(`${url}/console/checks`);
      await narrow.page.getByText("Your key lacks the scope health:read.").waitFor();
      await narrow.context.close();
    });

    describe.each(looks)("at $width pixels, $theme", (look) => {
      it.each([
        "services?type=socket",
        "services?q=nothing-is-called-so",
        `services?unit=${longName}`,
        "services?unit=nightly.timer",
        "checks?status=skip",
        "checks?check=disk_space",
        "processes?view=tree",
        "processes?view=units&q=nothing-is-called-so",
        "processes?pid=1",
      ])("%s is whole", async (path) => {
        const { length } = open.faults;
        await open.look(look);
        await open.open(path);
        if (/[?&](unit|check|pid)=/.test(path)) {
          await page.getByRole("dialog").locator(".facts").first().waitFor();
          await expect.poll(() => page.getByRole("dialog").locator(".loading").count()).toBe(0);
        }
        expect(await axeFaults(page)).toEqual([]);
        expect(await overflowOf(page)).toBeLessThanOrEqual(0);
        expect(open.faults.slice(length)).toEqual([]);
      });
    });
  },
);
