import { defined } from "#kernel/values.ts";
import { cronFault } from "./cron.ts";
import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toMs } from "./text.ts";

type Updates = Pick<Settings, "updates">;

const defaultDuration = "1h";

export function automaticPlan({ updates }: Updates) {
  const { automatic } = updates ?? {};
  if (automatic === undefined) return undefined;
  const { what, window, guard = true, reboot = "never", notify = "changes" } = automatic;
  const { cron, duration = defaultDuration, timezone } = window;
  return {
    what,
    isGuarded: guard,
    reboot,
    notify,
    durationMs: toMs(duration),
    times: { cron, ...defined({ timezone }) },
  };
}

export function automaticFaults({ updates }: Updates, faultAt: FaultAt): readonly Fault[] {
  const { automatic, enabled, snapshot } = updates ?? {};
  if (automatic === undefined) return [];
  const at = (path: readonly string[], message: string): Fault => faultAt(["updates", "automatic", ...path], message);
  const { cron, timezone } = automatic.window;
  const fault = cronFault(cron, timezone);
  return [
    ...(fault === undefined ? [] : [at(["window", fault[0]], fault[1])]),
    ...(enabled === false ? [at([], "cannot be given while updates.enabled is false")] : []),
    ...(snapshot === false && automatic.guard !== false
      ? [at(["guard"], "needs snapshots: set it to false, or updates.snapshot to true")]
      : []),
  ];
}
