import type { Clock } from "#domain/kernel/clock.ts";
import type { Outcome } from "./check.ts";
import type { Fix } from "./fix.ts";

/** A plan may look through directories and ask root: it is made anew after this time, or when the check finds something else. */
const keptMs = 10 * 60_000;
/** A plan that takes longer than this is not waited for. */
const planTimeoutMs = 30_000;

/** Whether fixes can do anything about what checks find. */
export interface Fixability {
  /**
   * Makes the plan of a fix that may find nothing to do, unless that was done a short while ago for the same finding. A plan that
   * cannot be made, or takes too long, rules nothing out. Never throws.
   */
  readonly canFix: (checkId: string, fixId: string, found: Outcome, signal: AbortSignal) => Promise<boolean>;
  /** Forgets what was found out about a check, for after a fix. */
  readonly forget: (checkId: string) => void;
}

interface Known {
  readonly fixId: string;
  readonly status: Outcome["status"];
  readonly canFix: boolean;
  readonly atMs: number;
}

/** @param ports.fixes all that there are. */
export function createFixability(ports: {
  readonly fixes: readonly Pick<Fix, "id" | "plan" | "mayFindNothing">[];
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
}): Fixability {
  const { clock } = ports;
  const fixes = new Map(ports.fixes.map((fix) => [fix.id, fix]));
  const known = new Map<string, Known>();

  const hasSteps = async (
    fix: Pick<Fix, "plan">,
    found: Outcome,
    signal: AbortSignal,
  ): Promise<boolean | undefined> => {
    const over = new AbortController();
    const during = AbortSignal.any([signal, over.signal]);
    const late = clock.sleep(planTimeoutMs, during).then(() => undefined);
    try {
      return await Promise.race([fix.plan(found, during).then(({ steps }) => steps.length > 0), late]);
    } catch {
      return undefined;
    } finally {
      over.abort();
    }
  };

  return {
    async canFix(checkId, fixId, found, signal) {
      const fix = fixes.get(fixId);
      if (fix?.mayFindNothing !== true) return true;
      const { status } = found;
      const before = known.get(checkId);
      const isSame = before?.fixId === fixId && before.status === status;
      if (isSame && clock.monotonicMs() - before.atMs < keptMs) return before.canFix;
      const canFix = await hasSteps(fix, found, signal);
      if (canFix === undefined) return true;
      known.set(checkId, { fixId, status, canFix, atMs: clock.monotonicMs() });
      return canFix;
    },
    forget: (checkId) => void known.delete(checkId),
  };
}
