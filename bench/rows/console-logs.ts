import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { type MeasuredPage, openConsole, startBrowser, whyNoBrowser } from "../browser-page.ts";
import { summarise } from "../harness.ts";
import { startJournal } from "../line-sources.ts";
import { bigJournal, whyNoLogRows } from "../log-queries.ts";
import { type Line, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { startSteward } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";

/** The goal is set for ten minutes; a try may be shorter. */
const seconds = Number(process.env["STEWARD_BENCH_SECONDS"] ?? 600);
const linesPerSecond = 2_000;
const tickMs = 50;
const lineLength = 120;
const entries = 1_000_000;
/** Of the list, one after the other. */
const moves = 200;
const jumps = 40;

const peer = "the same page at rest";
const subjectsOf = (work: string): readonly [Subject, Subject] => [
  { work: `${work}: heap`, peer, unit: "MiB", judged: "ours", goal: { is: "at most", value: 80 } },
  { work: `${work}: longest task`, peer, unit: "ms", judged: "ours", goal: { is: "at most", value: 50 } },
];
const followed = subjectsOf(`Logs in Chromium, ${linesPerSecond} lines a second followed for ${seconds} s`);
const scrolled = subjectsOf(`Logs in Chromium, a million entries scrolled through`);

interface Figures {
  readonly heapMib: number;
  readonly taskMs: number;
}

const figuresOf = async ({ heapMib, longestTaskMs }: MeasuredPage): Promise<Figures> => ({
  taskMs: await longestTaskMs(),
  heapMib: await heapMib(),
});

const linesOf = (
  [heap, task]: readonly [Subject, Subject],
  ours: Figures,
  atRest: Figures,
  note: string,
): readonly Line[] => [
  toLine(heap, summarise([{ ours: ours.heapMib, peer: atRest.heapMib }], "ours/peer"), [note]),
  toLine(task, summarise([{ ours: ours.taskMs, peer: atRest.taskMs }], "ours/peer")),
];

/** The logs, once they show something, and what they take then. */
async function openLogs(opened: MeasuredPage, url: string, query: string): Promise<Figures> {
  const { page } = opened;
  await page.goto(`${url}/console/logs${query}`);
  await page.locator(".histogram canvas").waitFor();
  await page.getByRole("listbox", { name: "Entries" }).getByRole("option").first().waitFor();
  await opened.longestTaskMs();
  return figuresOf(opened);
}

async function measureFollow(browser: Browser, { say }: RowOptions): Promise<readonly Line[]> {
  return withWorkspace(async (workspace) => {
    const dir = join(workspace.directory, "journal");
    mkdirSync(dir);
    const feed = startJournal(workspace, dir);
    feed(0, 1, lineLength);
    const server = await startSteward(workspace, { limits: "counted", journalDir: dir });
    const opened = await openConsole(browser, server);
    const { page } = opened;
    const atRest = await openLogs(opened, server.url, "?follow=1");
    const startedAt = performance.now();
    let written = 1;
    while (performance.now() - startedAt < seconds * 1000) {
      const due = 1 + Math.floor(((performance.now() - startedAt) / 1000) * linesPerSecond);
      feed(written, due - written, lineLength);
      written = due;
      await sleep(tickMs);
    }
    say(`${written} lines are written`);
    const counted = `${new Intl.NumberFormat("en").format(written)} entries`;
    await page.getByText(counted, { exact: true }).waitFor();
    const ours = await figuresOf(opened);
    return linesOf(followed, ours, atRest, `${written} lines, all of which the page has counted`);
  });
}

/** Waits until each row that is seen has its entry. */
const shown = (page: Page): Promise<unknown> =>
  page.waitForFunction(
    () =>
      ![...document.querySelectorAll(".log-row:not([hidden]) .log-message")].some((each) => each.textContent === "…"),
  );

async function measureScroll(browser: Browser, { say }: RowOptions): Promise<readonly Line[]> {
  const journal = await bigJournal(entries, say);
  return withWorkspace(async (workspace) => {
    const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
    const opened = await openConsole(browser, server);
    const { page } = opened;
    const atRest = await openLogs(opened, server.url, "?range=all");
    const list = page.getByRole("listbox", { name: "Entries" });
    for (let jump = 0; jump < jumps; jump += 1) {
      await list.evaluate((box, share) => box.scrollTo(0, box.scrollHeight * share), (jump + 0.5) / jumps);
      for (let move = 0; move < moves / jumps; move += 1) {
        await list.evaluate((box) => box.scrollBy(0, box.clientHeight));
        await shown(page);
      }
    }
    const ours = await figuresOf(opened);
    return linesOf(scrolled, ours, atRest, `${jumps} places over the whole list, and ${moves} pages from these on`);
  });
}

export const consoleLogs: Row = {
  name: "console-logs",
  summary: "heap and long tasks of the logs in a browser: lines that are followed, a million entries scrolled through",
  isOnlyNamed: true,
  async measure(options) {
    const missing = whyNoBrowser() ?? whyNoLogRows();
    if (missing !== undefined) return [...followed, ...scrolled].map((subject) => ({ ...subject, skipped: missing }));
    const browser = await startBrowser();
    try {
      return [...(await measureFollow(browser, options)), ...(await measureScroll(browser, options))];
    } finally {
      await browser.close();
    }
  },
};
