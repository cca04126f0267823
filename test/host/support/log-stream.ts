import type { LogEntry } from "#contract/log-entry.ts";
import { eventually } from "./eventually.ts";

/** A client of `/ws/logs`, made of the platform's own WebSocket. */
export interface LogStreamClient {
  /** Entries so far. */
  readonly entries: readonly LogEntry[];
  /** Frames that are no entries: errors, and counts of what was dropped. */
  readonly others: readonly unknown[];
  /** Resolves once the entry with this message is there. */
  readonly until: (message: string, timeoutMs?: number) => Promise<void>;
  readonly send: (frame: unknown) => void;
  readonly close: () => void;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

const isEntry = (frame: unknown): frame is LogEntry =>
  typeof frame === "object" && frame !== null && "cursor" in frame && "message" in frame;

/** Opens a stream. @throws Error when it is refused. */
export async function openLogStream(
  service: { readonly url: string },
  key: string,
  query: Readonly<Record<string, string>> = {},
): Promise<LogStreamClient> {
  const parameters = new URLSearchParams({ ...query, api_key: key }).toString();
  const address = `${service.url.replace(/^http/, "ws")}/api/v1/ws/logs?${parameters}`;
  const socket = new WebSocket(address);
  const entries: LogEntry[] = [];
  const others: unknown[] = [];
  const arrived = new Set<string>();
  socket.addEventListener("message", ({ data }) => {
    const frame: unknown = JSON.parse(String(data));
    if (!isEntry(frame)) return void others.push(frame);
    arrived.add(frame.message);
    entries.push(frame);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason }), { once: true });
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true });
    void closed.then(({ code }) => reject(new Error(`cannot open the stream: closed with ${code}`)));
  });
  return {
    entries,
    others,
    until: (message, timeoutMs) =>
      eventually(() => {
        if (arrived.has(message)) return;
        const last = JSON.stringify(entries.at(-1))?.slice(0, 300);
        throw new Error(`${JSON.stringify(message)} did not come; the last of ${entries.length} entries is ${last}`);
      }, timeoutMs),
    send: (frame) => socket.send(JSON.stringify(frame)),
    close: () => socket.close(),
    closed,
  };
}
