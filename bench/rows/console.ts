import { createServer, type Server as HttpServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { signIn } from "../../test/console/support/console.ts";
import { summarise } from "../harness.ts";
import { cpuSeconds } from "../process-usage.ts";
import { compare, type Line, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { startSteward } from "../servers.ts";
import { type Workspace, withWorkspace } from "../workspace.ts";

const slowdown = 4;
const idleSeconds = 60;
const settleMs = 5_000;

const view: Subject = {
  work: `the console's overview in Chromium, processor ÷ ${slowdown}: until the verdict is painted`,
  peer: "an empty page: its first paint",
  unit: "ms",
  judged: "ours/peer",
  goal: { is: "at most", value: 2 },
};
const idle: Subject = {
  work: `an open overview that nobody touches for ${idleSeconds} s: the service`,
  peer: "the same service without a page",
  unit: "% of a core",
  judged: "ours",
  goal: { is: "less than", value: 1 },
};

const empty = '<!doctype html><html lang="en"><title>Empty</title><link rel="icon" href="data:,"><p>Empty</p>';

const startEmpty = (): Promise<{ readonly server: HttpServer; readonly url: string }> =>
  new Promise((resolve) => {
    const server = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(empty));
    server.listen({ host: "127.0.0.1", port: 0 }, () => {
      const address = server.address();
      resolve({ server, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/` });
    });
  });

/** Opens a page in a tab of its own, without a cache, and asks it something. */
async function inSlowTab<T>(context: BrowserContext, url: string, ask: (page: Page) => Promise<T>): Promise<T> {
  const page = await context.newPage();
  await page.addInitScript(watchVerdict);
  try {
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
    await page.goto(url);
    return await ask(page);
  } finally {
    await page.close();
  }
}

/**
 * In the page, before its own scripts: when the frame that has the verdict was made. A driver that asks for it from outside comes hundreds
 * of milliseconds late on a slowed processor.
 */
function watchVerdict(): void {
  const observer = new MutationObserver(() => {
    if (document.querySelector(".verdict") === null) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => performance.mark("verdict");
      port2.postMessage(undefined);
    });
  });
  observer.observe(document, { childList: true, subtree: true });
}

/** Since the navigation began, in milliseconds. */
const verdictMs = (page: Page): Promise<number> =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          const [mark] = list.getEntriesByName("verdict");
          if (mark !== undefined) resolve(mark.startTime);
        }).observe({ type: "mark", buffered: true });
      }),
  );
const paintMs = (page: Page): Promise<number> =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          for (const each of list.getEntries()) if (each.name === "first-contentful-paint") resolve(each.startTime);
        }).observe({ type: "paint", buffered: true });
      }),
  );

/** Bytes of the files of the console as they come over the network. */
async function firstViewBytes(context: BrowserContext, url: string): Promise<number> {
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
  let bytes = 0;
  page.on("response", (response) => {
    if (new URL(response.url()).pathname.startsWith("/console/"))
      bytes += Number(response.headers()["content-length"] ?? 0);
  });
  await page.goto(url);
  await page.locator(".verdict").waitFor();
  await page.close();
  return bytes;
}

async function measureConsole(workspace: Workspace, options: RowOptions): Promise<readonly Line[]> {
  const server = await startSteward(workspace, { limits: "counted" });
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server"],
  });
  const peer = await startEmpty();
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    await signIn(page, server.url, server.headers["X-API-Key"] ?? "");
    await page.close();
    const overview = `${server.url}/console/`;
    const bytes = await firstViewBytes(context, overview);
    const line = await compare(
      view,
      {
        ours: () => inSlowTab(context, overview, verdictMs),
        peer: () => inSlowTab(context, peer.url, paintMs),
        notes: () => [`the first view is ${(bytes / 1024).toFixed(1)} KiB of files, compressed`],
      },
      options,
    );
    const used = async (): Promise<number> => {
      await sleep(settleMs);
      const before = cpuSeconds(server.pid);
      await sleep(idleSeconds * 1000);
      return ((cpuSeconds(server.pid) - before) / idleSeconds) * 100;
    };
    const without = await used();
    const shown = await context.newPage();
    await shown.goto(overview);
    await shown.locator(".verdict").waitFor();
    options.say(`${idle.work}: waiting`);
    const withPage = await used();
    return [line, toLine(idle, summarise([{ ours: withPage, peer: without }], "ours/peer"))];
  } finally {
    await browser.close();
    peer.server.close();
    await server.stop();
  }
}

export const consoleView: Row = {
  name: "console",
  summary: "the console's first view beside an empty page, and what an open page costs the service",
  measure: (options) => withWorkspace((workspace) => measureConsole(workspace, options)),
};
