import { setTimeout as delay } from "node:timers/promises";
import { ApiError } from "#client/index.ts";
import { logQueryLimit } from "#contract/limits.ts";
import type { LogEntry, LogList } from "#contract/logs.ts";
import { type RawEntry, rawEntry } from "../output/journal-output.ts";
import type { Connection } from "./ports.ts";

type Client = Connection["client"];
export type LogQuery = NonNullable<NonNullable<Parameters<Client["listLogs"]>[0]>["query"]>;

/** As often as a service refuses further calls one after the other, and how long is waited when it does not say. */
const [mostRefusals, usualWaitSeconds] = [20, 5];

/** Asks again when the service says that this key calls too often. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let refusals = 1; ; refusals += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "RATE_LIMITED") || refusals >= mostRefusals) throw error;
      const seconds = Number(error.details?.["retry_after_seconds"] ?? usualWaitSeconds);
      await delay(seconds * 1000);
    }
  }
}

/** All entries of a query page by page, oldest first with `asc`. What is written meanwhile comes, too. */
export async function* allPages({ client }: Connection, query: LogQuery): AsyncGenerator<readonly LogEntry[]> {
  let page: LogQuery = { ...query, from: "oldest", limit: logQueryLimit.maximum };
  for (;;) {
    const { logs, next_cursor: next }: LogList = await patiently(() => client.listLogs({ query: page }));
    if (logs.length > 0) yield logs;
    if (logs.length === 0 || next === null) return;
    if (next === page.cursor) throw new Error("the service gives the same page of entries again and again");
    page = { ...page, cursor: next };
  }
}

export const valueBytes = (field: { readonly text?: string; readonly base64?: string } | undefined): Buffer =>
  field?.text === undefined ? Buffer.from(field?.base64 ?? "", "base64") : Buffer.from(field.text);

/** The entry with its fields, and what did not come with them. */
export function withFields({ client }: Connection, entry: LogEntry): Promise<RawEntry> {
  return rawEntry(entry, async (name, position, from) => {
    const parts: Buffer[] = [];
    for (let offset: number | undefined = from; offset !== undefined; ) {
      const query: LogQuery = { entry: entry.cursor, fields: name, offset };
      const { logs }: LogList = await patiently(() => client.listLogs({ query }));
      const field = logs[0]?.fields?.filter((each) => each.name === name)[position];
      parts.push(valueBytes(field));
      const next = field?.next_offset;
      if (next !== undefined && next <= offset)
        throw new Error(`the service gives no more than ${offset} bytes of ${name}`);
      offset = next;
    }
    return parts;
  });
}
