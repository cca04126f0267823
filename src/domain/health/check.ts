import type { CheckStatus, Severity } from "#contract/checks.ts";

/** What a check found. */
export interface Outcome {
  readonly status: CheckStatus;
  /** One sentence that a tired person understands: what is so, and what it means. */
  readonly message: string;
  /** The figures behind it, with snake_case names and units in them. */
  readonly details: Readonly<Record<string, unknown>>;
  /**
   * Which of the check's fixes mends what was found: null when none does. Only for warn and fail; the first of
   * {@link Check.fixes} unless given.
   */
  readonly fixId?: string | null;
}

/** What settings say of a check; what they leave out is the check's own. */
export interface CheckSettings {
  /** Thresholds in the unit of the check. */
  readonly warn?: number;
  readonly fail?: number;
  /** Paths, units, names that the check leaves out. */
  readonly ignore: readonly string[];
}

/**
 * A health check: it looks at one thing and says how that is. It changes nothing. What it throws is a failed check; where
 * its subject is absent it answers `skip` with the reason.
 */
export interface Check {
  /** snake_case, as in paths and settings. */
  readonly id: string;
  /** For people. */
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
  /** How old its result may be; the general interval unless it is given. */
  readonly intervalMs?: number;
  /** How long a run may take; the general limit unless it is given. */
  readonly timeoutMs?: number;
  /** For a check that keeps to its limit by itself: what it may take beyond it, to end what it has started and to say so. */
  readonly graceMs?: number;
  /** Ids of the fixes that mend what it finds, the usual one first. */
  readonly fixes?: readonly string[];
  readonly run: (settings: CheckSettings, signal: AbortSignal) => Promise<Outcome>;
}
