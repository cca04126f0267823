import type { CheckStatus, Severity } from "#contract/checks.ts";
import type { GuardedBy } from "#domain/ports/updates.ts";

/** Objects of a check that warned or failed in a run, by their names. */
export type Graded = Readonly<Record<string, "warn" | "fail">>;

/** What the last run of a check said. */
export interface PreviousGrades {
  readonly status: CheckStatus;
  /** Undefined after a restart: then every object that is near a threshold counts as what the check said. */
  readonly objects?: Graded;
}

export interface Outcome {
  readonly status: CheckStatus;
  /** One sentence for people: what is so, and what it means. */
  readonly message: string;
  /** Figures with snake_case names that include the unit. */
  readonly details: Readonly<Record<string, unknown>>;
  /** From which values on it warns or fails, by the names of figures in the details. */
  readonly thresholds?: Readonly<Record<string, Partial<Thresholds>>>;
  /** Which of the check's fixes applies, null for none; the first of {@link Check.fixes} by default. Only for warn and fail. */
  readonly fixId?: string | null;
  /** Whether that fix can do anything about it, where that is known already. */
  readonly canFix?: boolean;
  /** For the next run: see `grading.ts`. */
  readonly graded?: Graded;
}

/** Thresholds of what is left, in the unit of the check: bytes or inodes. */
export interface FreeBelow {
  readonly warn?: number;
  readonly fail?: number;
}

/** Thresholds for one mount point, in place of those of the check. */
export interface MountSettings extends FreeBelow {
  readonly freeBelow?: FreeBelow;
}

export interface CheckSettings {
  /** Thresholds in the unit of the check. */
  readonly warn?: number;
  readonly fail?: number;
  readonly ignore: readonly string[];
  /** How far beyond a threshold a figure has to go back, in percent of it. */
  readonly margin?: number;
  readonly freeBelow?: FreeBelow;
  /** By path. */
  readonly mounts?: Readonly<Record<string, MountSettings>>;
  /** Over which time a figure is the average. */
  readonly overMs?: number;
  /** How long it is learned what is usual. */
  readonly learningMs?: number;
  /** Whether the host is meant to have no way out. */
  readonly isIsolated?: boolean;
  /** What the last run said, where there was one. */
  readonly previous?: PreviousGrades;
}

/** A read-only health check of one thing. An error is a failed check; where its subject is absent it answers `skip`. */
export interface Check {
  /** snake_case, as in paths and settings. */
  readonly id: string;
  readonly name: string;
  readonly category:
    | "storage"
    | "memory"
    | "cpu"
    | "processes"
    | "services"
    | "network"
    | "updates"
    | "security"
    | "system"
    | "custom";
  readonly severity: Severity;
  readonly intervalMs?: number;
  /** While it passes or is skipped, unless settings say otherwise: for a question that is expensive to the host. */
  readonly calmIntervalMs?: number;
  /** Checks of one group fall due at the same time: one process of root can answer for all of them. */
  readonly group?: string;
  readonly timeoutMs?: number;
  /** Further time for a check that enforces its limit itself: to end what it has started, and to report it. */
  readonly graceMs?: number;
  /** Without it, guarded updates do not look at it. */
  readonly guardedBy?: GuardedBy;
  /** Ids of its fixes, the usual one first. */
  readonly fixes?: readonly string[];
  /** What it reports where its subject is absent, without the rights that {@link run} may need, and asked for before that. */
  readonly absent?: () => Promise<Outcome | undefined>;
  /** @param askedAtMs on the monotonic clock: what was seen before that time is not an answer. Now by default. */
  readonly run: (settings: CheckSettings, signal: AbortSignal, askedAtMs?: number) => Promise<Outcome>;
}

/** A check that comes with the service, with what the documents, `steward doctor` and the console say of it. */
export interface BuiltInCheck extends Check {
  /** What it looks at, and what its settings mean. */
  readonly about: string;
  /** What a warning or a failure means, in one sentence. */
  readonly meaning: string;
  /** What to do about it. */
  readonly remedy: string;
  /** Unless settings give others. */
  readonly thresholds?: Thresholds;
}

/** The end of a sentence about what is no trouble there. */
export const asIsolated = "as expected on an isolated host";

export const skip = (message: string, details: Outcome["details"] = {}): Outcome => ({
  status: "skip",
  message,
  details,
});

interface Thresholds {
  readonly warn: number;
  readonly fail: number;
}

export const thresholdsFor = (own: Thresholds, { warn, fail }: Pick<CheckSettings, "warn" | "fail">): Thresholds => ({
  warn: warn ?? own.warn,
  fail: fail ?? own.fail,
});

export function grade(value: number, { warn, fail }: Thresholds): "pass" | "warn" | "fail" {
  if (value >= fail) return "fail";
  return value >= warn ? "warn" : "pass";
}

const gigabyte = 1e9;

const round = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** A share in percent with one decimal, so that the figure shown is the one graded. 0 where there is nothing. */
export const toPercent = (part: number, whole: number): number => (whole <= 0 ? 0 : round((part / whole) * 100, 1));

/** Bytes in GB of 10^9 bytes, with one decimal; three below 1 GB. */
export function toGigabytes(bytes: number): number {
  const gigabytes = bytes / gigabyte;
  return round(gigabytes, gigabytes < 1 ? 3 : 1);
}

const special = /[.+^${}()|[\]\\]/g;

const toExpression = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(special, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");

/** A test of names against ignored names and patterns with `*` and `?`. */
export function createIgnore(patterns: readonly string[]): (name: string) => boolean {
  const expressions = patterns.map(toExpression);
  return (name) => expressions.some((expression) => expression.test(name));
}

const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/+$/, "") : path);

/** Whether a mount point is ignored, by its path or a directory above it. "/" means only the root. */
export const isIgnoredPath = (path: string, ignore: readonly string[]): boolean =>
  ignore.map(withoutSlash).some((each) => path === each || (each !== "/" && path.startsWith(`${each}/`)));
