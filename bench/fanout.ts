import { fileURLToPath } from "node:url";
import type { LineSource } from "./line-sources.ts";
import { cpuSeconds, residentMib } from "./process-usage.ts";
import type { Server } from "./servers.ts";
import type { ClientsReport, ClientsRequest } from "./stream-clients.ts";
import type { Workspace } from "./workspace.ts";

const program = fileURLToPath(new URL("./stream-clients.ts", import.meta.url));
const timeoutMs = 120_000;

/** So much goes out before the measurement, in big lines, that clients which do not read are full. */
const prefill = { lines: 128, length: 60_000, window: 8 } as const;
const lineLength = 120;
/** Lines that may be under way to the slowest reader. */
const window = 1000;

/** How many connections there are, how many of them read nothing, and how many lines are measured. */
export interface FanoutLoad {
  readonly clients: number;
  readonly stalled: number;
  readonly lines: number;
}

export interface FanoutResult {
  /** Frames that readers got. */
  readonly framesPerSecond: number;
  /** Memory of the server at the end, with all clients still there. */
  readonly residentMib: number;
  /** Shares of the time that the server's main thread and the clients' process worked. */
  readonly busy: { readonly server: number; readonly clients: number };
}

export interface Fanout {
  /** @throws Error when a reader misses a line, or gets one twice or out of order. */
  readonly run: (load: FanoutLoad) => Promise<FanoutResult>;
  /** A frame as the readers got it in the last run. */
  readonly sample: () => string;
}

/** Sends lines to many clients of a stream, which live in a process of their own. */
export function startFanout(workspace: Workspace, server: Server, path: string, feed: LineSource): Fanout {
  const env = { STEWARD_API_KEY: server.headers["X-API-Key"] ?? "" };
  const clients = workspace.start([process.execPath, program, `${server.url}${path}`], env, { channel: true });
  let next = 0;
  let sample = "";
  let report: (report: ClientsReport) => void = () => undefined;
  clients.channel?.onMessage((message) => report(message as ClientsReport));

  /** Waits for reports until one is what is waited for. */
  const until = (what: string, isIt: (report: ClientsReport) => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = (error?: Error): void => {
        clearTimeout(timer);
        report = () => undefined;
        if (error === undefined) resolve();
        else reject(error);
      };
      const fail = (why: string): void => end(new Error(`cannot ${what}: ${why}\n${clients.output()}`));
      const timer = setTimeout(() => fail(`not done after ${timeoutMs} ms`), timeoutMs);
      report = (reported) => {
        if (reported.kind === "progress" && reported.wrong > 0)
          fail(`${reported.wrong} lines are lost, double or out of order`);
        else if (isIt(reported)) end();
      };
    });

  const ask = (request: ClientsRequest): Promise<void> => {
    const done = until(`${request.kind} clients`, ({ kind }) => kind === "done");
    clients.channel?.send(request);
    return done;
  };

  /** Gives the server lines as fast as the slowest reader takes them. */
  const send = async (lines: number, length: number, ahead: number): Promise<void> => {
    const end = next + lines;
    const feedUpTo = (number: number): void => {
      const count = Math.min(number, end) - next;
      if (count <= 0) return;
      feed(next, count, length);
      next += count;
    };
    const done = until("send lines", (reported) => {
      if (reported.kind !== "progress") return false;
      sample = reported.sample;
      feedUpTo(reported.slowest + ahead);
      return reported.slowest === end;
    });
    feedUpTo(next + ahead);
    await done;
  };

  return {
    sample: () => sample,
    async run({ clients: count, stalled, lines }) {
      const readers = count - stalled;
      await ask({ kind: "open", readers: 1, stalled, next });
      await send(prefill.lines, prefill.length, prefill.window);
      await ask({ kind: "open", readers: readers - 1, stalled: 0, next });
      const usedBefore = [cpuSeconds(server.pid, server.pid), cpuSeconds(clients.pid)] as const;
      const startedAt = performance.now();
      await send(lines, lineLength, window);
      const seconds = (performance.now() - startedAt) / 1000;
      const result = {
        framesPerSecond: (lines * readers) / seconds,
        residentMib: residentMib(server.pid),
        busy: {
          server: (cpuSeconds(server.pid, server.pid) - usedBefore[0]) / seconds,
          clients: (cpuSeconds(clients.pid) - usedBefore[1]) / seconds,
        },
      };
      await ask({ kind: "close" });
      server.forgetOutput();
      return result;
    },
  };
}
