import { type CheckStatus, statusRank } from "#contract/checks.ts";
import type { Clock } from "#kernel/clock.ts";

export interface Condition {
  readonly checks: Readonly<Record<string, CheckStatus>>;
  readonly failedUnits: readonly string[];
}

export interface ConditionReport {
  readonly look: (signal: AbortSignal) => Promise<Condition>;
}

const lookIntervalMs = 15_000;

/** Further samples after the end of the time while problems come and go. */
const lateLooks = 4;

/** Checks that an update affects by itself: a kernel waits for its reboot, lists grow old. */
const notTheUpdates: readonly string[] = ["reboot_required", "security_updates"];

/** A subject that disappeared counts as broken, unless the update removes packages. Nothing is worse than a failure. */
function isWorse(before: CheckStatus, after: CheckStatus, removesPackages: boolean): boolean {
  if (after !== "skip") return statusRank[after] > statusRank[before];
  return !removesPackages && (before === "pass" || before === "warn");
}

function worseThan(before: Condition, after: Condition, removesPackages: boolean): readonly string[] {
  const checks = Object.entries(after.checks)
    .filter(([id]) => !notTheUpdates.includes(id))
    .filter(([id, status]) => isWorse(before.checks[id] ?? "skip", status, removesPackages))
    .map(([id, status]) => `check ${id}: ${before.checks[id] ?? "new"}, now ${status}`);
  const units = after.failedUnits
    .filter((unit) => !before.failedUnits.includes(unit))
    .map((unit) => `unit ${unit}: failed`);
  return [...units, ...checks];
}

export interface GuardTimes {
  readonly guardMs: number;
  /** Sufficient where no sample finds anything worse. */
  readonly enoughMs: number;
}

const usualTimes: GuardTimes = { guardMs: 5 * 60_000, enoughMs: 90_000 };

/** A configured time is used in full. */
export const guardTimesOf = (minutes: number | undefined): GuardTimes =>
  minutes === undefined ? usualTimes : { guardMs: minutes * 60_000, enoughMs: minutes * 60_000 };

export interface Watch extends GuardTimes {
  readonly before: Condition;
  readonly removesPackages: boolean;
}

/**
 * Watches the host after an update. A host that cannot be checked counts as worse.
 * @returns what is worse in two consecutive samples, as soon as there is any; nothing when the time is over, or after `enoughMs`
 * without problems.
 */
export async function watchAfter(
  { before, removesPackages, guardMs, enoughMs }: Watch,
  ports: { readonly report: ConditionReport; readonly clock: Pick<Clock, "monotonicMs" | "sleep"> },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { report, clock } = ports;
  const startedAtMs = clock.monotonicMs();
  const endMs = startedAtMs + guardMs;
  let wasWorse = false;
  let last: readonly string[] = [];
  let late = 0;
  const look = async (): Promise<readonly string[]> => {
    try {
      return worseThan(before, await report.look(signal), removesPackages);
    } catch {
      signal.throwIfAborted();
      return ["the host cannot be looked at"];
    }
  };
  for (;;) {
    const worse = await look();
    // A service that is restarting looks bad for a moment.
    const lasting = worse.filter((each) => last.includes(each));
    if (lasting.length > 0) return lasting;
    last = worse;
    wasWorse ||= worse.length > 0;
    if (!wasWorse && clock.monotonicMs() - startedAtMs >= enoughMs) return [];
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) late += 1;
    if (late > 0 && (worse.length === 0 || late > lateLooks)) return worse;
    await clock.sleep(Math.max(1_000, Math.min(lookIntervalMs, leftMs)), signal);
    signal.throwIfAborted();
  }
}
