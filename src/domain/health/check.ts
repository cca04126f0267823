import type { CheckStatus, Severity } from "#contract/checks.ts";
import type { GuardedBy } from "#domain/common/guarded-by.ts";

export interface Outcome {
  readonly status: CheckStatus;
  /** One sentence for people: what is so, and what it means. */
  readonly message: string;
  /** Figures with snake_case names that include the unit. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Which of the check's fixes applies, null for none; the first of {@link Check.fixes} by default. Only for warn and fail. */
  readonly fixId?: string | null;
  /** Whether that fix can do anything about it, where that is known already. */
  readonly canFix?: boolean;
}

/** The settings of a check; what they leave out is the check's own. */
export interface CheckSettings {
  /** Thresholds in the unit of the check. */
  readonly warn?: number;
  readonly fail?: number;
  /** Paths, units or names that the check leaves out. */
  readonly ignore: readonly string[];
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
  readonly timeoutMs?: number;
  /** Further time for a check that enforces its limit itself: to end what it has started, and to report it. */
  readonly graceMs?: number;
  /** Without it, guarded updates do not look at it. */
  readonly guardedBy?: GuardedBy;
  /** Ids of its fixes, the usual one first. */
  readonly fixes?: readonly string[];
  readonly run: (settings: CheckSettings, signal: AbortSignal) => Promise<Outcome>;
}

export const skip = (message: string): Outcome => ({ status: "skip", message, details: {} });
