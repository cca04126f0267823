import type { HealthCheckResult } from "#contract/checks.ts";
import type { ChatAnswer, ChatMessage } from "#contract/connectors.ts";
import type { LogList } from "#contract/logs.ts";
import type { Caller, Context, SerializedJson } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import type { StoredRun } from "#domain/ports/check-history.ts";
import type { ConnectorDefinition } from "#domain/ports/connectors.ts";
import type { Runbooks } from "#domain/ports/runbooks.ts";
import type { Unit } from "#domain/ports/units.ts";
import { toTimestamp } from "#kernel/clock.ts";
import type { Reads } from "./reads.ts";

export type PastRun = Omit<StoredRun, "durationMs">;

export type UnitFacts = Omit<Unit, "mainPid" | "memoryBytes">;

/** The newest entries of a window of the journal. Times are microseconds since the epoch. */
export interface LogSearch {
  /** Names and patterns of units; undefined: all. */
  readonly units: readonly string[] | undefined;
  readonly identifier: string | undefined;
  readonly since: number;
  readonly until: number;
  readonly priority: number | undefined;
  readonly limit: number;
}

/** The facts from the other parts, and what a caller may see of them. */
export interface ExplainSources {
  /** The last result while it is fresh, else that of a run; undefined for an unknown check. */
  readonly check: (id: string) => Promise<HealthCheckResult> | undefined;
  readonly history: (checkId: string, since: number) => readonly PastRun[];
  readonly units: () => Promise<readonly UnitFacts[]>;
  readonly logs: (search: LogSearch, caller: Caller, signal: AbortSignal) => Promise<SerializedJson<LogList>>;
  readonly seesUnits: (caller: Caller) => boolean;
  /** Names and patterns of units. */
  readonly logUnitsOf: (caller: Caller) => "all" | readonly string[];
  readonly reads: Reads;
  /** Whether a caller has a scope, for some resource at least: the answers themselves are narrowed. */
  readonly maySee: (context: Pick<Context, "caller">, scope: Scope) => boolean;
  readonly runbooks: Runbooks["read"];
  readonly isWithin: (unit: string, pattern: string) => boolean;
}

export interface Asking {
  /** The connector for a call. @throws DomainError for an unknown one, or one that the caller may not use. */
  readonly choose: (
    connector: string | undefined,
    context: Pick<Context, "caller" | "checkWindows">,
  ) => Promise<Pick<ConnectorDefinition, "name" | "provider" | "model">>;
  /** @throws DomainError as `choose`, and without an answer of the provider. */
  readonly ask: (
    input: { readonly connector: string; readonly messages: readonly ChatMessage[]; readonly maxTokens: number },
    context: Context,
  ) => Promise<Pick<ChatAnswer, "content" | "model" | "connector" | "usage">>;
}

/** A time in which a check failed or warned. Times are epoch milliseconds. */
export interface Episode {
  readonly from: number;
  readonly until: number;
  /** Its worst run, the first of them. */
  readonly worst: PastRun;
}

const isTrouble = ({ status }: PastRun): boolean => status === "fail" || status === "warn";

/** Episodes that have ended, oldest first. @param runs changes of the status, oldest first. */
export function episodesOf(runs: readonly PastRun[]): readonly Episode[] {
  const ended: Episode[] = [];
  let open: Pick<Episode, "from" | "worst"> | undefined;
  for (const run of runs) {
    if (!isTrouble(run)) {
      if (open !== undefined) ended.push({ ...open, until: run.checkedAt });
      open = undefined;
    } else if (open === undefined) open = { from: run.checkedAt, worst: run };
    else if (run.status === "fail" && open.worst.status === "warn") open = { ...open, worst: run };
  }
  return ended;
}

export function episodeLine({ from, until, worst }: Episode): string {
  const minutes = Math.max(1, Math.round((until - from) / 60_000));
  return `${toTimestamp(from)} to ${toTimestamp(until)} (${minutes} min), ${worst.status}: ${worst.message}`;
}
