import { withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Outcome } from "./check.ts";
import type { Fix } from "./fix.ts";

const planTimeoutMs = 30_000;

/** Whether a fix can do anything about what a check found. Never throws. */
export type Fixability = (fixId: string, found: Outcome, signal: AbortSignal) => Promise<boolean>;

/** Makes the plan of fixes that may find nothing to do. A plan that fails or takes too long rules nothing out. */
export function createFixability(ports: {
  readonly fixes: readonly Pick<Fix, "id" | "plan" | "mayFindNothing">[];
  readonly clock: Pick<Clock, "sleep">;
}): Fixability {
  const { clock } = ports;
  const fixes = new Map(ports.fixes.map((fix) => [fix.id, fix]));

  return async (fixId, found, signal) => {
    const fix = fixes.get(fixId);
    if (fix?.mayFindNothing !== true) return true;
    const finds = async (during: AbortSignal): Promise<boolean> => (await fix.plan(found, during)).steps.length > 0;
    return withinTime(clock, planTimeoutMs, signal, finds, () => true).catch(() => true);
  };
}
