import { existsSync } from "node:fs";
import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import { signIn } from "../test/console/support/console.ts";
import type { Server } from "./servers.ts";

const program = "/usr/bin/chromium";
const timeoutMs = 120_000;

export const whyNoBrowser = (): string | undefined =>
  existsSync(program) ? undefined : `${program} is missing (apt-get install chromium)`;

/** A page of a browser whose memory and long tasks are read. */
export interface MeasuredPage {
  readonly page: Page;
  /** What scripts hold once what nobody refers to is gone, in MiB. */
  readonly heapMib: () => Promise<number>;
  /** The longest task since the last call, in milliseconds; those under 50 ms count as none. */
  readonly longestTaskMs: () => Promise<number>;
}

const mib = 1024 * 1024;

async function measured(page: Page): Promise<MeasuredPage> {
  page.setDefaultTimeout(timeoutMs);
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { longTasks: tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: "longtask", buffered: true });
  });
  const devtools: CDPSession = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  return {
    page,
    async heapMib() {
      await devtools.send("HeapProfiler.collectGarbage");
      const { metrics } = await devtools.send("Performance.getMetrics");
      const used = metrics.find(({ name }) => name === "JSHeapUsedSize")?.value;
      if (used === undefined) throw new Error("cannot measure: the browser does not report its heap");
      return used / mib;
    },
    longestTaskMs: () =>
      page.evaluate(() => {
        const { longTasks } = globalThis as unknown as { longTasks: number[] };
        return Math.max(0, ...longTasks.splice(0));
      }),
  };
}

export const startBrowser = (): Promise<Browser> =>
  // The sandbox needs a user other than root; what is opened here are our own pages.
  chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server"] });

/** The console in a page, signed in. */
export async function openConsole(browser: Browser, { url, headers }: Server): Promise<MeasuredPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const opened = await measured(await context.newPage());
  await signIn(opened.page, url, headers["X-API-Key"] ?? "");
  return opened;
}
