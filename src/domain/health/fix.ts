import type { FixStepReport } from "#contract/checks.ts";
import type { Effect } from "#contract/effects.ts";
import type { Risk } from "#contract/operation.ts";
import type { Outcome } from "./check.ts";

/** Told the id of an operation as soon as it is begun. */
export type OnOperation = (operationId: string) => void;

/** One thing that a fix does. */
export interface FixStep {
  /** In the imperative, with names: `restart nginx.service`. A dry run and the report say it in the same words. */
  readonly action: string;
  /**
   * Does it. The signal fires when the time of the fix is over or the service ends.
   * @param onOperation told the id of an operation that it begins, which goes on without it.
   * @returns one sentence for people: what came of it, with figures.
   * @throws when it could not be done: the message is what people read.
   */
  readonly run: (signal: AbortSignal, onOperation?: OnOperation) => Promise<string>;
}

/** What a fix would do about what a check found. */
export interface FixPlan {
  /** In order; none when nothing can be done, and then `reason` says why. */
  readonly steps: readonly FixStep[];
  /** Beside steps: what is left alone, and why. */
  readonly reason?: string;
  /** systemd units and packages that are touched: all of them, since a narrowed scope is compared with these. */
  readonly units?: readonly string[];
  readonly packages?: readonly string[];
  readonly downloadBytes?: number;
  /** What becomes free on disk, as far as can be told before. */
  readonly freesBytes?: number;
  readonly requiresReboot?: boolean;
}

/**
 * Mends what a check found, and touches nothing else: what is not in the outcome is not its business. It never kills
 * processes by name and never deletes lock files.
 */
export interface Fix {
  /** snake_case. */
  readonly id: string;
  /** For people: what it does. */
  readonly summary: string;
  /** `safe`: loses nothing. `moderate`: services or files are touched that can be had again. `risky`: needs to be confirmed. */
  readonly risk: Risk;
  /** What it does to the host: who asks for it needs the scopes of that besides `health:fix`. */
  readonly does: readonly [Effect, ...Effect[]];
  /** Fixes of one kind never run at the same time. */
  readonly kind: "packages" | "services" | "clock" | "storage";
  /** Whether a step that fails ends the fix; otherwise the others are done all the same. */
  readonly endsOnFailure: boolean;
  /** Whether it may find nothing to do about what its check found: then its plan says whether it is offered. */
  readonly mayFindNothing?: boolean;
  /** After this time the signal of the steps fires; ten minutes unless given. */
  readonly timeoutMs?: number;
  /** Changes nothing. */
  readonly plan: (found: Outcome, signal: AbortSignal) => Promise<FixPlan>;
  /**
   * Carries out the steps of its plan where that is not done in this process, one by one.
   * @throws when nothing could be done: the message is what people read.
   */
  readonly carryOut?: (plan: FixPlan, signal: AbortSignal) => Promise<readonly FixStepReport[]>;
}
