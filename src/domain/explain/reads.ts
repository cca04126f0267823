import type { Static } from "typebox";
import type { HealthCheckResult } from "#contract/checks.ts";
import type { operations } from "#contract/index.ts";
import { type Context, type Handlers, SerializedJson, Versioned } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";

type Name =
  | "getSystemInfo"
  | "listProcesses"
  | "getDiskUsage"
  | "listPackageHistory"
  | "listAudit"
  | "listChecks"
  | "getCheckMetrics"
  | "listUnits"
  | "getNetwork"
  | "getLogFacets";

/** What others know of the host, as they would answer the caller. */
export type Reads = Pick<Handlers<typeof operations>, Name>;

/** What is said about a subject. */
export interface Reported {
  /** The most informative first. */
  readonly lines: readonly string[];
  /** Units that have to do with the finding, although the check does not name them: their state and journal are read too. */
  readonly units?: readonly string[];
}

/** Something about the host that may be why a check finds what it finds. */
export interface Surrounding {
  readonly title: string;
  readonly scope: Scope;
  /** Whether it belongs to what this check found. */
  readonly concerns: (result: HealthCheckResult) => boolean;
  readonly read: (reads: Reads, result: HealthCheckResult, context: Context) => Promise<Reported>;
}

type Table = typeof operations;
type Handler = (input: object, context: Context) => unknown;

/** The answer of a read, in whichever form its handler has it. */
export async function ask<K extends Name>(
  reads: Reads,
  name: K,
  query: object,
  context: Context,
): Promise<Static<Table[K]["response"]>> {
  const answer = await (reads[name] as Handler)({ query, params: {} }, context);
  const made: unknown = answer instanceof Versioned ? answer.make() : answer;
  const value: unknown = made instanceof SerializedJson ? JSON.parse(new TextDecoder().decode(made.bytes)) : made;
  return value as Static<Table[K]["response"]>;
}

/** A check sees a change some time after it came, and the log shows it at once. */
export const beforeChangeMs = 10 * 60_000;
export const afterChangeMs = 10_000;

/** Whether something happened around a change of a check. */
export const isAround = (atMs: number, changeMs: number): boolean =>
  atMs >= changeMs - beforeChangeMs && atMs <= changeMs + afterChangeMs;
