import type { CheckStatus } from "#contract/checks.ts";
import { statusRank } from "#contract/checks.ts";
import type { Clock } from "#kernel/clock.ts";

/** How the host is: what an update may make worse. */
export interface Condition {
  /** Status of each health check. */
  readonly checks: Readonly<Record<string, CheckStatus>>;
  readonly failedUnits: readonly string[];
}

/** Looks at the host anew. */
export interface ConditionReport {
  readonly look: (signal: AbortSignal) => Promise<Condition>;
}

/** How often it is looked while an update is guarded. */
const lookIntervalMs = 15_000;

/** How often it is looked after the time is over while now this and now that is worse. */
const lateLooks = 4;

/** What an update is for, or brings with it, by itself: a kernel waits for its reboot, lists grow old. */
const notTheUpdates: readonly string[] = ["reboot_required", "security_updates"];

/**
 * Whether a status is worse than the one before. What could be looked at and cannot be any more is broken, unless the update
 * was to remove packages: then the subject may be gone on purpose. Nothing is worse than to fail.
 */
function isWorse(before: CheckStatus, after: CheckStatus, removesPackages: boolean): boolean {
  if (after !== "skip") return statusRank[after] > statusRank[before];
  return !removesPackages && (before === "pass" || before === "warn");
}

/** Checks that are worse than before, and units that have failed since, as people read it. */
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

/** How long a host is watched, in milliseconds. */
export interface GuardTimes {
  readonly guardMs: number;
  /** When it is over where no look has found anything worse. */
  readonly enoughMs: number;
}

const usualTimes: GuardTimes = { guardMs: 5 * 60_000, enoughMs: 90_000 };

/** The times that follow from the setting: whoever says how long gets all of it. */
export const guardTimesOf = (minutes: number | undefined): GuardTimes =>
  minutes === undefined ? usualTimes : { guardMs: minutes * 60_000, enoughMs: minutes * 60_000 };

/** What a host is watched for. */
export interface Watch extends GuardTimes {
  readonly before: Condition;
  /** Whether the update removes packages. */
  readonly removesPackages: boolean;
}

/**
 * Watches the host after an update.
 * @returns what is worse than before in two looks one after the other, as soon as there is such a thing; nothing when the
 * time is over, or earlier where each look has found the host as it was. A host that cannot be looked at is worse than one that could be, and so is one that is never well again.
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
    // A service that is just starting again looks bad for a moment.
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
