import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { describeOnHost } from "../host/support/session.ts";
import type { Browser, Page } from "../process/support/chromium.ts";
import { startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { axeFaults, looks, type OpenConsole, openConsole, overflowOf, startBrowser } from "./support/console.ts";

const slowMs = 60_000;
/** More than the list asks for at once by far. */
const lines = 6_000;
const longName = "report-of-the-night-that-is-named-like-this-by-a-generator@0123456789abcdef.service";

/** Writes numbered lines, one in a hundred an error. */
const chatty = [
  "[Service]",
  "Type=oneshot",
  "LogRateLimitIntervalSec=0",
  `ExecStart=/usr/bin/awk 'BEGIN { for (n = 1; n <= ${lines}; n++) printf "<%%d>line %%d of many\\\\n", n %% 100 ? 6 : 3, n }'`,
];

interface SeenRow {
  readonly place: number;
  readonly message: string;
}

const rowsOf = (page: Page): Promise<readonly SeenRow[]> =>
  page.getByRole("listbox").evaluate((list) => {
    const { top, bottom } = list.getBoundingClientRect();
    return [...list.querySelectorAll("[role=option]:not([hidden])")]
      .map((row) => ({
        top: row.getBoundingClientRect().top,
        place: Number(row.getAttribute("aria-posinset")),
        message: row.lastElementChild?.textContent ?? "",
      }))
      .filter((row) => row.top >= top && row.top < bottom - 4)
      .sort((one, other) => one.top - other.top)
      .map(({ place, message }) => ({ place, message }));
  });

const numberIn = (text: string): number => Number(/line (\d+) of many/.exec(text)?.[1] ?? Number.NaN);

/** The rows that are seen, once each has its entry. */
async function shownRows(page: Page): Promise<readonly SeenRow[]> {
  let rows: readonly SeenRow[] = [];
  await expect
    .poll(async () => {
      rows = await rowsOf(page);
      return rows.length > 0 && rows.every(({ message }) => message !== "…");
    })
    .toBe(true);
  return rows;
}

const countOf = async (page: Page): Promise<string> => (await page.locator(".page-head > .quiet").textContent()) ?? "";
const missing = hasBrowser() ? undefined : "there is no Chromium";

describeOnHost("logs in the console", { missing, checks: ["memory"] }, (session) => {
  const workspace = createWorkspace();
  let browser: Browser;
  let open: OpenConsole;
  let page: Page;

  beforeAll(async () => {
    await session.host.writeFile("/etc/systemd/journald.conf.d/50-test.conf", "[Journal]\nRateLimitBurst=0\n");
    await session.shell("systemctl restart systemd-journald");
    await session.writeUnits({
      "chatty.service": chatty,
      "apart.service": ["[Service]", "Type=oneshot", "LogNamespace=apart", "ExecStart=/bin/echo said-apart"],
      "talker.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/echo said-by-talker"],
      [longName.replace("@0123456789abcdef", "@")]: ["[Service]", "Type=oneshot", "ExecStart=/bin/echo done"],
    });
    await session.shell(`systemctl start chatty ${longName} && journalctl --sync`);
    browser = await startBrowser(workspace);
    open = await openConsole(browser, { url: session.service.url, key: session.service.adminKey });
    ({ page } = open);
    page.setDefaultTimeout(slowMs);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace.dispose();
  });
  beforeEach(() => open.look({ width: 1280, theme: "light" }));

  const list = () => page.getByRole("listbox", { name: "Entries" });
  const openList = async (query: string): Promise<void> => {
    await open.open(`logs${query}`);
    await shownRows(page);
  };

  it("of one unit are narrowed to its errors by mouse, and one is shown with its fields, its surroundings and an address", async () => {
    await openList("?range=boot");
    await page.getByRole("checkbox", { name: /^chatty/ }).check();
    await page.getByRole("checkbox", { name: /^Error and up/ }).check();
    await expect.poll(() => countOf(page)).toBe(`${lines / 100} entries`);
    const rows = await shownRows(page);
    expect(rows.map(({ message }) => numberIn(message) % 100)).toEqual(rows.map(() => 0));
    await list().getByText("line 5900 of many").click();
    const pane = page.getByRole("region", { name: "Entry" });
    await pane.getByRole("rowheader", { name: "_SYSTEMD_UNIT" }).waitFor();
    await pane.getByText("Around it, of all units").click();
    await pane.getByRole("button", { name: /line 5901 of many/ }).waitFor();
    const cursor = new URL(page.url()).searchParams.get("entry") ?? "";
    const other = await open.context.newPage();
    await other.goto(`${session.service.url}/console/logs?entry=${encodeURIComponent(cursor)}`);
    await other.getByRole("option", { selected: true }).filter({ hasText: "line 5900 of many" }).waitFor();
    await other.close();
  });

  it("keep what is chosen of facets while the list is asked for, all of it", async () => {
    await openList("?range=boot");
    const answered = Promise.withResolvers<void>();
    await page.route(/\/system\/logs\?/, async (route) => {
      await answered.promise;
      await route.continue();
    });
    await page.getByRole("checkbox", { name: /^chatty/ }).check();
    await page.getByRole("checkbox", { name: /^Error and up/ }).check();
    answered.resolve();
    await expect.poll(() => countOf(page)).toBe(`${lines / 100} entries`);
    await page.unroute(/\/system\/logs\?/);
  });

  it("are searched, gone through, followed and explained by keyboard alone", async () => {
    await openList("?unit=chatty.service&range=boot");
    await page.keyboard.press("/");
    await page.keyboard.type("line 12\\d\\d of");
    await page.keyboard.press("Enter");
    await expect.poll(() => countOf(page)).toBe("100 entries");
    await page.keyboard.press("Escape");
    await page.keyboard.press("G");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    const pane = page.getByRole("region", { name: "Entry" });
    await pane.getByText("line 1298 of many").first().waitFor();
    const active = await list().getAttribute("aria-activedescendant");
    expect(await page.locator(`[id="${active}"]`).textContent()).toContain("line 1298 of many");
    await page.keyboard.press("Escape");
    await pane.waitFor({ state: "detached" });
    await page.keyboard.press("E");
    await page.getByRole("option", { selected: true }).filter({ hasText: "line 1200 of many" }).waitFor();
    await page.keyboard.press("f");
    await page.getByRole("button", { name: "Live", pressed: true }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  it("are a list of which few rows exist, and that any place can be reached of", async () => {
    await openList("?unit=chatty.service&range=boot");
    const query = { unit: "chatty.service", since: "1970-01-01T00:00:00Z", limit: 10_000 };
    const { logs, total } = await session.api.listLogs({ query });
    for (const share of [0.5, 0.1, 0.9, 0]) {
      await list().evaluate((box, to) => box.scrollTo(0, box.scrollHeight * to), share);
      await expect.poll(async () => (await rowsOf(page))[0]?.message).not.toBe("…");
      const rows = await shownRows(page);
      expect(Math.abs((rows[0]?.place ?? 0) - Math.round(total * share))).toBeLessThan(3);
      expect(rows).toEqual(rows.map(({ place }) => ({ place, message: logs[place - 1]?.message })));
    }
    expect(await list().getByRole("option", { includeHidden: true }).count()).toBeLessThan(60);
    await list().focus();
    await page.keyboard.press("End");
    await expect.poll(async () => (await rowsOf(page)).at(-1)?.place).toBe(total);
  });

  it("are zoomed into by dragging over the histogram, and Back leads out", async () => {
    await openList("?range=boot");
    const before = page.url();
    const chart = await page.locator(".u-over").boundingBox();
    if (chart === null) throw new Error("there is no histogram");
    const y = chart.y + chart.height / 2;
    await page.mouse.move(chart.x + chart.width * 0.2, y);
    await page.mouse.down();
    await page.mouse.move(chart.x + chart.width * 0.6, y, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/since=.*until=/);
    expect(await page.getByRole("combobox", { name: "Time" }).inputValue()).toBe("custom");
    await page.goBack();
    expect(page.url()).toBe(before);
  });

  it("that are followed keep their place when somebody has scrolled up, and count what is new", async () => {
    await openList("?range=boot&follow=1");
    await session.shell("logger -p user.err first-that-is-followed");
    await list().getByText("first-that-is-followed").waitFor();
    await list().evaluate((box) => box.scrollBy(0, -2000));
    const [before] = await shownRows(page);
    await session.shell("for n in 1 2 3; do logger more-$n; done");
    await page.getByRole("button", { name: /^\d+ new entr/ }).waitFor();
    expect((await shownRows(page))[0]).toEqual(before);
    await page.getByRole("button", { name: /^\d+ new entr/ }).click();
    await list().getByText("more-3").waitFor();
  });

  it("of several units are followed by their short names too, whichever journal they write to, and without those of others", async () => {
    await openList("?range=boot&follow=1&unit=chatty.service&unit=apart&unit=talker.service");
    await page.getByRole("button", { name: "Live", pressed: true }).waitFor();
    expect(await page.getByRole("button", { name: "Live" }).getAttribute("title")).toBe(
      "More entries than these arrive; the page keeps those that match.",
    );
    await session.shell("logger said-by-another; systemctl start apart talker");
    await list().getByText("said-apart").waitFor();
    await list().getByText("said-by-talker").waitFor();
    expect(await list().getByText("said-by-another").count()).toBe(0);
  });

  it("have no fault in any look: with entries, with one entry, without any", async () => {
    for (const look of looks) {
      await open.look(look);
      for (const query of ["?range=boot", "?range=15m&grep=nobody-wrote-this"]) {
        await open.open(`logs${query}`);
        await page.locator(".log-row:not([hidden]), .empty").first().waitFor();
        expect([query, look, await axeFaults(page)]).toEqual([query, look, []]);
        expect([query, look, await overflowOf(page)]).toEqual([query, look, 0]);
      }
      await openList(`?range=boot&unit=${encodeURIComponent(longName)}`);
      await list().getByText("done").last().click();
      await page.getByRole("rowheader", { name: "_SYSTEMD_UNIT" }).waitFor();
      expect([look, await axeFaults(page)]).toEqual([look, []]);
      expect([look, await overflowOf(page)]).toEqual([look, 0]);
      if (look.width > 760) continue;
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: /^Filters/ }).click();
      await page.getByRole("dialog", { name: "Filters" }).getByRole("checkbox").first().waitFor();
      expect([look, await axeFaults(page)]).toEqual([look, []]);
    }
    expect(open.faults).toEqual([]);
  });

  it("of a key that lacks the scope are refused with its name, and of a narrowed one are those of its units", async () => {
    const keyOf = async (scope: string): Promise<string> =>
      (await session.api.createKey({ body: { name: scope, scopes: [scope] } })).key;
    const lacking = await openConsole(browser, { url: session.service.url, key: await keyOf("health:read") });
    await lacking.page.goto(`${session.service.url}/console/logs`);
    await lacking.page.getByText("Your key lacks the scope logs:read.").waitFor();
    await lacking.context.close();
    const narrowed = await openConsole(browser, {
      url: session.service.url,
      key: await keyOf("logs:read:chatty.service"),
    });
    await narrowed.page.goto(`${session.service.url}/console/logs?range=boot`);
    await narrowed.page
      .getByRole("option")
      .filter({ hasText: `line ${lines} of many` })
      .waitFor();
    await narrowed.context.close();
  });
});

describe.runIf(missing === undefined)("logs in the console of a machine without a journal", () => {
  const workspace = createWorkspace();
  afterAll(() => workspace.dispose());

  it("are said to be unknown, not none", async () => {
    const service = await startService(workspace, {
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: workspace.path("nowhere") },
    });
    const browser = await startBrowser(workspace);
    try {
      const { page } = await openConsole(browser, { url: service.url, key: service.adminKey });
      await page.goto(`${service.url}/console/logs`);
      await page.getByText(/Not shown: entries\./).waitFor();
      expect(await page.locator(".page-head > .quiet").count()).toBe(0);
      expect(await axeFaults(page)).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  it("are said to lack what is in a file that cannot be read", async () => {
    const directory = workspace.path("unread");
    mkdirSync(directory);
    const file = join(directory, "text.journal");
    writeFileSync(file, "not a journal\n".repeat(100));
    const service = await startService(workspace, {
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: directory },
    });
    const browser = await startBrowser(workspace);
    try {
      const { page } = await openConsole(browser, { url: service.url, key: service.adminKey });
      await page.goto(`${service.url}/console/logs`);
      await page.getByText(`Entries may be missing: ${file} cannot be read. Reason: `).waitFor();
      expect(await axeFaults(page)).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
