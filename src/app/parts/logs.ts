import type { PartContext } from "#app/part.ts";
import type { Caller } from "#contract/operation.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows, resourcesOf } from "#domain/access/scopes.ts";
import { logsHandlers } from "#domain/logs/handlers.ts";
import { keepLearning } from "#domain/logs/learning.ts";
import { createLogReader } from "#domain/logs/reader.ts";
import { createLogStream } from "#domain/logs/stream.ts";
import type {
  Grep,
  Journal,
  JournalExploration,
  JournalExport,
  JournalLists,
  JournalMemory,
} from "#domain/ports/journal.ts";
import type { Dispose } from "#kernel/clock.ts";
import { encodeTextFrame } from "#transports/ws/index.ts";
import type { HostPart } from "./host.ts";
import type { UpdatesPart } from "./updates.ts";

interface Earlier {
  readonly host: Pick<HostPart, "open">;
  readonly updates: Pick<UpdatesPart, "snapshotTime">;
}

interface LogsAdapters {
  readonly journal: Pick<Journal, "query" | "follow" | "size"> &
    JournalMemory &
    JournalExploration &
    JournalExport &
    JournalLists;
  readonly grep: Grep;
}

export function logsPart(
  { clock, log }: Pick<PartContext, "clock" | "log">,
  { host, updates }: Earlier,
  { journal, grep }: LogsAdapters = host.open(),
) {
  const { snapshotTime } = updates;
  const seesSnapshots = (caller: Caller | undefined): boolean => allows(caller?.scopes ?? [], "updates:read");
  const unitsOf = ({ scopes }: Caller) => resourcesOf(scopes, "logs:read");
  const reader = createLogReader({ journal, clock });
  const stream = createLogStream({
    journal,
    grep,
    clock,
    unitsOf,
    scopeLack,
    encode: encodeTextFrame,
    onTrouble: (error) => log.warn({ err: error }, "log stream failed"),
  });
  let stopLearning: Dispose = () => undefined;
  return {
    handlers: logsHandlers({ reader, journal, clock, unitsOf, scopeLack, snapshotTime, seesSnapshots }),
    reader,
    unitsOf,
    stream: stream.open,
    start(): void {
      stopLearning = keepLearning({
        journal,
        clock,
        onTrouble: (error) => log.warn({ err: error }, "cannot remember templates of the journal"),
      });
    },
    stop(): void {
      stopLearning();
      stream.dispose();
    },
  };
}

export type LogsPart = ReturnType<typeof logsPart>;
