import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { WebSocket } from "ws";
import { baseEnvironment } from "./service.ts";
import { until } from "./until.ts";
import type { Workspace } from "./workspace.ts";

const chromium = "/usr/bin/chromium";

/**
 * Prints why no browser can be driven here, if so, and tells whether one can.
 * @throws Error in CI (`CI=true`), where a skipped test would go unnoticed.
 */
export function hasBrowser(): boolean {
  if (existsSync(chromium)) return true;
  const reason = "apt-get install chromium";
  if (process.env["CI"] === "true") throw new Error(`cannot drive a browser, and in CI nothing is skipped: ${reason}`);
  process.stderr.write(`skipped: the stream in a browser (${reason})\n`);
  return false;
}

/** A page of a browser. */
export interface Page {
  readonly goTo: (url: string) => Promise<void>;
  /** The value of an expression in the page; of what it resolves to, where it is a promise. */
  readonly evaluate: (expression: string) => Promise<unknown>;
}

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/**
 * Starts Chromium and speaks its DevTools protocol over the connection that it opens for that.
 * @param more options for its command line.
 */
export async function openPage(workspace: Workspace, more: readonly string[] = []): Promise<Page> {
  const child = spawn(
    chromium,
    [
      "--headless=new",
      // The sandbox needs a user other than root; what is opened here are our own pages.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--no-proxy-server",
      "--remote-debugging-port=0",
      `--user-data-dir=${workspace.path(`browser-${randomUUID()}`)}`,
      ...more,
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "pipe"], env: baseEnvironment(workspace) },
  );
  workspace.adopt(child);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const address = await until("address of the browser", () => /listening on (ws:\S+)/.exec(stderr)?.[1], 60_000);
  const { host } = new URL(address);
  const target = await until("page of the browser", async () => {
    const pages = (await (await fetch(`http://${host}/json/list`)).json()) as {
      type: string;
      webSocketDebuggerUrl: string;
    }[];
    return pages.find(({ type }) => type === "page")?.webSocketDebuggerUrl;
  });
  const socket = new WebSocket(target);
  await once(socket, "open");

  const replies = new Map<number, (reply: Reply) => void>();
  let loads = 0;
  socket.on("message", (data) => {
    const reply = JSON.parse(Buffer.isBuffer(data) ? data.toString() : "{}") as Reply;
    if (reply.method === "Page.loadEventFired") loads += 1;
    if (reply.id !== undefined) replies.get(reply.id)?.(reply);
  });
  let calls = 0;
  const call = async (method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> => {
    calls += 1;
    const id = calls;
    const reply = new Promise<Reply>((resolve) => replies.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await reply;
    replies.delete(id);
    if (error !== undefined) throw new Error(`cannot ${method}: ${error.message}`);
    return result ?? {};
  };
  await call("Page.enable");

  return {
    async goTo(url) {
      const before = loads;
      await call("Page.navigate", { url });
      await until("loaded page", () => (loads > before ? true : undefined));
    },
    async evaluate(expression) {
      const answer = (await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true })) as {
        readonly result: { readonly value?: unknown };
        readonly exceptionDetails?: object;
      };
      if (answer.exceptionDetails !== undefined) throw new Error(`in the page: ${JSON.stringify(answer)}`);
      return answer.result.value;
    },
  };
}
