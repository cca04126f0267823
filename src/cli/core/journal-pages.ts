import { setTimeout as delay } from "node:timers/promises";
import type { RawEntry } from "#adapters/journal-format/output.ts";
import { wholeEntry } from "#adapters/journal-format/whole-entry.ts";
import { ApiError } from "#client/index.ts";
import { logQueryLimit } from "#contract/limits.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { Connection } from "./ports.ts";

type Client = Connection["client"];
export type LogQuery = NonNullable<NonNullable<Parameters<Client["listLogs"]>[0]>["query"]>;

/** As often as a service refuses further calls one after the other, and how long is waited when it does not say. */
const [mostRefusals, usualWaitSeconds] = [20, 5];

/** Asks again when the service says that this key calls too often. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
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

/** All entries of a query page by page, oldest first with `asc`. What is written meanwhile comes, too. The last page may be empty. */
export async function* allPages({ client }: Connection, query: LogQuery): AsyncGenerator<LogList> {
  let page: LogQuery = { ...query, from: "oldest", limit: logQueryLimit.maximum };
  for (;;) {
    const answer: LogList = await patiently(() => client.listLogs({ query: page }));
    yield answer;
    const { logs, next_cursor: next } = answer;
    if (logs.length === 0 || next === null) return;
    if (next === page.cursor) throw new Error("the service gives the same page of entries again and again");
    page = { ...page, cursor: next };
  }
}

/** The entry with its fields, and what did not come with them. */
export const withFields = ({ client }: Connection, entry: LogEntry): Promise<RawEntry> =>
  wholeEntry(entry, (query) => patiently(() => client.listLogs({ query })));
