import type { CheckStatus, HealthCheckResult } from "#contract/checks.ts";
import type { ChatMessage, ChatResponse } from "#contract/connectors.ts";
import type { LogList } from "#contract/logs.ts";
import type { Caller, Context, SerializedJson } from "#contract/operation.ts";

/** An earlier run of a check. Times are epoch milliseconds. */
export interface PastRun {
  readonly checkedAt: number;
  readonly status: CheckStatus;
  readonly message: string;
}

/** A unit as systemd has it. */
export interface UnitFacts {
  readonly name: string;
  readonly description: string;
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  readonly unitFileState: string;
  readonly restarts: number;
  readonly result: string;
  /** Epoch milliseconds. */
  readonly since: number | null;
}

/** The newest entries of a window of the journal. Moments are microseconds since the epoch. */
export interface LogSearch {
  /** Names and patterns of units; undefined: all. */
  readonly units: readonly string[] | undefined;
  readonly identifier: string | undefined;
  readonly since: number;
  readonly until: number;
  readonly priority: number | undefined;
  readonly limit: number;
}

/** What the other parts know of the host, and what a caller may see of it. */
export interface ExplainSources {
  /** The last result of a check while it is fresh, else a run; undefined where there is no such check. */
  readonly check: (id: string) => Promise<HealthCheckResult> | undefined;
  /** Runs since a moment, oldest first. */
  readonly history: (checkId: string, since: number) => readonly PastRun[];
  /** Services that are loaded or installed. */
  readonly units: () => Promise<readonly UnitFacts[]>;
  readonly logs: (search: LogSearch, caller: Caller, signal: AbortSignal) => Promise<SerializedJson<LogList>>;
  /** Whether a caller may see the state of units. */
  readonly seesUnits: (caller: Caller) => boolean;
  /** Names and patterns of the units whose entries a caller may see. */
  readonly logUnitsOf: (caller: Caller) => "all" | readonly string[];
  /** Whether a unit is one of those that a pattern covers. */
  readonly isWithin: (unit: string, pattern: string) => boolean;
}

/** The connectors, as far as they are needed to ask one. */
export interface Asking {
  /**
   * Name of the connector that a call would go to.
   * @throws DomainError where there is none of that name, or the caller may not use it.
   */
  readonly choose: (connector: string | undefined, caller: Caller | undefined) => Promise<string>;
  /** @throws DomainError as `choose`, and where the provider does not answer. */
  readonly ask: (
    input: { readonly connector: string; readonly messages: readonly ChatMessage[]; readonly maxTokens: number },
    context: Context,
  ) => Promise<Pick<ChatResponse, "content" | "model" | "connector" | "usage">>;
}
