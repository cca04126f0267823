import type { LogEntry } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { Caller, Context, SerializedJson } from "#contract/operation.ts";
import type { ServiceDetails, ServiceRun } from "#contract/units.ts";
import { notRead } from "#domain/common/page.ts";
import { anyEntries, type LogQuery } from "#domain/ports/journal.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { utf8Length } from "#kernel/text.ts";
import { runsOf } from "./service-runs.ts";

/** Reads the journal for a caller, who takes turns with others. */
export type ReadLogs = (
  query: LogQuery,
  reading: { readonly owner: string; readonly signal: AbortSignal },
) => Promise<SerializedJson<LogList>>;

const newestEntries = 20;
/** A run takes about five messages of systemd. */
const entriesOfRuns = 60;
const daysOfRuns = 31;
const dayUs = 24 * 60 * 60 * 1_000_000;
const mostMessageBytes = 8 * 1024;
const ofRoot = 0;

/** The start of a long message, and where it continues. */
function shortened(entry: LogEntry): LogEntry {
  if (utf8Length(entry.message) <= mostMessageBytes) return entry;
  const bytes = new TextEncoder().encode(entry.message).subarray(0, mostMessageBytes);
  // A character that was cut in two is left to the next part.
  const message = new TextDecoder().decode(bytes, { stream: true });
  return { ...entry, message, truncated: true, next_offset: utf8Length(message) };
}

const listIn = ({ bytes }: SerializedJson<LogList>): LogList => JSON.parse(new TextDecoder().decode(bytes)) as LogList;

export interface UnitLogPorts {
  readonly readLogs: ReadLogs;
  /** Whether a caller may read the log of a unit. */
  readonly seesLog: (caller: Caller, unit: string) => boolean;
  readonly clock: Pick<Clock, "now">;
}

interface LogOfUnit {
  readonly logs: LogEntry[] | null;
  readonly runs: ServiceRun[] | null;
  readonly notShown: ServiceDetails["not_shown"];
}

const withheld = (reason: string): LogOfUnit => ({
  logs: null,
  runs: null,
  notShown: ["logs", "runs"].map((what) => ({ what, reason })),
});

export interface UnitLog {
  /** The end of the log of a unit and its runs by it, where the caller may read it. */
  readonly read: (unit: string, context: Pick<Context, "caller" | "signal">) => Promise<LogOfUnit>;
}

export function createUnitLog({ readLogs, seesLog, clock }: UnitLogPorts): UnitLog {
  const queryOf = (unit: string, rest: Partial<LogQuery>): LogQuery => {
    const until = clock.now() * 1000 + 999;
    return {
      ...anyEntries,
      units: [unit],
      until,
      limit: entriesOfRuns,
      ...rest,
    };
  };
  return {
    async read(unit, { caller, signal }) {
      if (caller === undefined || !seesLog(caller, unit)) return withheld(`this key lacks the scope logs:read:${unit}`);
      const reading = { owner: caller.keyId, signal: signal() };
      const since = Math.max(0, clock.now() * 1000 - daysOfRuns * dayUs);
      const ofSystemd = { identifier: "systemd", uid: ofRoot, since };
      try {
        const { logs, total, not_shown: [lack] = [], unread } = listIn(await readLogs(queryOf(unit, {}), reading));
        if (lack !== undefined) return withheld(lack.reason);
        // Where that is its whole log, what systemd wrote of it is in it.
        const reported =
          total <= logs.length
            ? logs.filter(({ timestamp }) => Date.parse(timestamp) * 1000 >= since)
            : listIn(await readLogs(queryOf(unit, ofSystemd), reading)).logs;
        return {
          logs: logs.slice(-newestEntries).map(shortened),
          runs: [...runsOf(reported, unit)],
          notShown: ["logs", "runs"].flatMap((what) => notRead(what, unread)),
        };
      } catch (error) {
        if (reading.signal.aborted) throw error;
        return withheld(errorMessage(error));
      }
    },
  };
}
