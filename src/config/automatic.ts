import { didYouMean } from "#kernel/closest.ts";
import { defined } from "#kernel/values.ts";
import { cronFault } from "./cron.ts";
import type { Fault, FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";
import { toMs } from "./text.ts";

type Updates = Pick<Settings, "updates" | "windows">;

const defaultDuration = "1h";

type Given = NonNullable<NonNullable<Settings["updates"]>["automatic"]>["window"];

/** The window as it stands there, or that of this name. */
const windowOf = (given: Given, windows: Settings["windows"]): Exclude<Given, string> | undefined =>
  typeof given === "string" ? windows?.find(({ name }) => name === given) : given;

/** What the settings say of automatic updates; undefined where they say nothing. Faulty ones are refused before, see {@link automaticFaults}. */
export function automaticPlan({ updates, windows }: Updates) {
  const { automatic } = updates ?? {};
  const window = automatic && windowOf(automatic.window, windows);
  if (automatic === undefined || window === undefined) return undefined;
  const { what, guard = true, reboot = "never", notify = "changes" } = automatic;
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

function windowFault(given: Given, windows: NonNullable<Settings["windows"]>): readonly [string, string] | undefined {
  if (typeof given !== "string") return cronFault(given.cron, given.timezone);
  const names = windows.map(({ name }) => name);
  return names.includes(given) ? undefined : ["", `there is no window ${given} in windows${didYouMean(given, names)}`];
}

export function automaticFaults({ updates, windows = [] }: Updates, faultAt: FaultAt): readonly Fault[] {
  const { automatic, enabled, snapshot } = updates ?? {};
  if (automatic === undefined) return [];
  const at = (path: readonly string[], message: string): Fault => faultAt(["updates", "automatic", ...path], message);
  const fault = windowFault(automatic.window, windows);
  return [
    ...(fault === undefined ? [] : [at(["window", fault[0]].filter(Boolean), fault[1])]),
    ...(enabled === false ? [at([], "cannot be given while updates.enabled is false")] : []),
    ...(snapshot === false && automatic.guard !== false
      ? [at(["guard"], "needs snapshots: set it to false, or updates.snapshot to true")]
      : []),
  ];
}
