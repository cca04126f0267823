import type { AutomaticOutcome, AutomaticUpdates, automaticReboots } from "#contract/automatic-updates.ts";
import type { Scope } from "#contract/scopes.ts";
import type { UpdateApply } from "#contract/updates.ts";
import { DomainError, isWindowRefusal } from "#domain/common/error.ts";
import { noProgress, type UpdateRequest } from "#domain/ports/packages.ts";
import type { HostUpdates } from "#domain/ports/snapshots.ts";
import type { Units } from "#domain/ports/units.ts";
import type { AutomaticRun, AutomaticRuns } from "#domain/ports/updates.ts";
import { type Calendar, type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import type { ApplyInput } from "./apply-steps.ts";
import { notRefreshed, refusedAsInvalid } from "./refusals.ts";

export interface AutomaticPlan {
  readonly calendar: Calendar;
  readonly durationMs: number;
  readonly what: "security" | "all";
  readonly isGuarded: boolean;
  readonly reboot: (typeof automaticReboots)[number];
}

export interface Window {
  readonly opensAt: number;
  /** Another time on each host, so that not all of them ask the same repository at once. */
  readonly startsAt: number;
  readonly closesAt: number;
}

/** How often is looked whether a window is open; the wall clock may jump. */
const lookMs = 20_000;
const retryMs = 5 * 60_000;
/** Time for those who are logged in, and for the news to leave. */
const rebootNoticeMs = 60_000;

function windowFrom(
  { durationMs }: Pick<AutomaticPlan, "durationMs">,
  /** A number from 0 to 1 for an opening, always the same. */
  spread: (opensAt: number) => number,
  opensAt: number,
): Window {
  const startsAt = opensAt + Math.floor((durationMs / 2) * spread(opensAt));
  return { opensAt, startsAt, closesAt: opensAt + durationMs };
}

type Found = Pick<AutomaticRun, "outcome" | "message" | "operationId">;
const found = (outcome: AutomaticOutcome, message: string, operationId: string | null = null): Found => ({
  outcome,
  message,
  operationId,
});

function installed(result: UpdateApply): Found {
  const { success, packages_updated: updated, snapshot_id: snapshot, guard, error, operation_id: id } = result;
  const behind = snapshot === "" ? "" : ` behind the snapshot ${snapshot}`;
  const verdict = guard === undefined ? "" : `; ${guard.message}`;
  const trouble = success ? "" : `; ${error ?? "it did not succeed"}`;
  return found(
    success ? "installed" : "failed",
    `${counted(updated, "package")} updated${behind}${verdict}${trouble}`,
    id,
  );
}

const isRetryable = (error: unknown): boolean =>
  isWindowRefusal(error) || (error instanceof DomainError && error.details?.["retryable"] === true);

/** What else installs updates on this host, and how to end that; undefined where nothing does. */
async function findRival({ manager }: HostUpdates, units: Pick<Units, "states">, signal: AbortSignal) {
  const timers = await manager.otherUpdaters(signal);
  if (timers.length === 0) return undefined;
  const states = (await units.states(timers)) ?? [];
  const active = states.find(({ name, activeState }) => timers.includes(name) && activeState === "active");
  return (
    active &&
    `${active.name} installs updates on this host as well (systemctl disable --now ${active.name}, or take updates.automatic out of the settings)`
  );
}

export interface AutomaticPorts {
  readonly plan: AutomaticPlan;
  readonly host: () => Promise<HostUpdates | undefined>;
  readonly units: Pick<Units, "states">;
  readonly clock: Clock;
  readonly runs: AutomaticRuns;
  readonly spread: (opensAt: number) => number;
  /** Begins the operation of a window, or finds the one that it began before, and waits for its result. */
  readonly apply: (input: ApplyInput, windowOpenedAt: number, signal: AbortSignal) => Promise<UpdateApply>;
  /** Why windows of the settings hold a scope back now; undefined where none does. */
  readonly heldBack: (scope: Scope) => DomainError | undefined;
  /** Whether an operation was started for this window. */
  readonly hasStarted: (windowOpenedAt: number) => boolean;
  /** @throws DomainError when the host cannot be rebooted then. */
  readonly reboot: (at: number, message: string, signal: AbortSignal) => Promise<void>;
  /** Called when a window is over. `isChange`: it is not what the window before ended with. */
  readonly onEnd: (run: AutomaticRun, isChange: boolean) => void;
}

const unmanaged = "no package manager here is supported, or settings forbid it";

function inputOf({ what, isGuarded }: AutomaticPlan): ApplyInput {
  const request: UpdateRequest = { type: "packages", isSecurityOnly: what === "security", names: undefined };
  return { request, takesSnapshot: true, isGuarded };
}

async function update(
  ports: AutomaticPorts,
  host: HostUpdates,
  { opensAt }: Window,
  signal: AbortSignal,
): Promise<Found> {
  const { plan, apply, hasStarted, heldBack, units } = ports;
  const { manager } = host;
  const input = inputOf(plan);
  if (!hasStarted(opensAt)) {
    const rival = await findRival(host, units, signal);
    if (rival !== undefined) return found("refused", rival);
    if (plan.what === "security" && !manager.capabilities.knowsSecurity)
      return found("refused", `${manager.name} does not distinguish security updates from others (set what to all)`);
    await refusedAsInvalid(() => manager.lists.refresh(noProgress, signal)).catch(notRefreshed);
    const { changes } = await refusedAsInvalid(() => manager.plan(input.request, signal));
    if (changes.length === 0) return found("nothing", "nothing to update");
    const held = heldBack("updates:apply");
    if (held !== undefined) throw held;
  }
  return installed(await apply(input, opensAt, signal));
}

/** What is in the way now and may not be later is tried again while the window is open. */
async function updateInTime(ports: AutomaticPorts, window: Window, signal: AbortSignal): Promise<Found> {
  const { clock, host, hasStarted } = ports;
  const managed = await host();
  if (managed === undefined) return found("refused", unmanaged);
  for (;;) {
    try {
      return await update(ports, managed, window, signal);
    } catch (error) {
      signal.throwIfAborted();
      const isLate = clock.now() + retryMs >= window.closesAt;
      if (isLate || !isRetryable(error))
        return found(hasStarted(window.opensAt) ? "failed" : "refused", errorMessage(error));
    }
    await clock.sleep(retryMs, signal);
    signal.throwIfAborted();
  }
}

/** @returns when the host reboots, and what is to be said of it. */
async function rebootAfter(
  ports: AutomaticPorts,
  { outcome }: Found,
  window: Window,
  signal: AbortSignal,
): Promise<{ readonly at: number | null; readonly message: string }> {
  const { plan, host, clock, heldBack, reboot } = ports;
  const none = { at: null, message: "" };
  if (outcome !== "installed" && outcome !== "nothing") return none;
  const needs = await (await host())?.manager.restartNeeds(signal);
  if (needs?.requiresReboot !== true) return none;
  if (plan.reboot === "never") return { at: null, message: "; a reboot completes it" };
  const at = clock.now() + rebootNoticeMs;
  if (plan.reboot === "in_window" && at > window.closesAt)
    return { at: null, message: "; a reboot completes it, in the next window" };
  const held = heldBack("system:reboot");
  if (held !== undefined) return { at: null, message: `; a reboot completes it, but ${held.message}` };
  try {
    await reboot(at, "Steward reboots this host to complete updates", signal);
    return { at, message: `; the host reboots at ${toTimestamp(at)} to complete it` };
  } catch (error) {
    signal.throwIfAborted();
    return { at: null, message: `; a reboot completes it, but ${errorMessage(error)}` };
  }
}

/** Installs updates in each window, once, and continues after a restart of the service where it was. */
export function createAutomaticUpdates(ports: AutomaticPorts) {
  const { plan, clock, runs, spread, onEnd } = ports;
  const { calendar } = plan;
  const stopping = new AbortController();
  const { signal } = stopping;
  let isRunning = false;

  const currentWindow = (): Window | undefined => {
    const now = clock.now();
    const opensAt = calendar.latest(now);
    if (opensAt === undefined || runs.last()?.windowOpenedAt === opensAt) return undefined;
    const window = windowFrom(plan, spread, opensAt);
    return window.startsAt <= now && now < window.closesAt ? window : undefined;
  };

  const run = async (window: Window): Promise<void> => {
    const before = runs.last();
    const result = await updateInTime(ports, window, signal);
    const { at: rebootAt, message } = await rebootAfter(ports, result, window, signal);
    const done: AutomaticRun = {
      ...result,
      message: `${result.message}${message}`,
      windowOpenedAt: window.opensAt,
      endedAt: clock.now(),
      rebootAt,
    };
    const isChange = done.outcome !== before?.outcome || done.message !== before.message;
    runs.save(done);
    onEnd(done, isChange);
  };

  const look = (onTrouble: (error: unknown) => void): void => {
    const window = isRunning ? undefined : currentWindow();
    if (window === undefined) return;
    isRunning = true;
    run(window)
      .catch((error: unknown) => {
        if (!signal.aborted) onTrouble(error);
      })
      .finally(() => {
        isRunning = false;
      });
  };

  const nextWindow = (): Window | undefined => {
    const now = clock.now();
    const latest = calendar.latest(now);
    const open = latest === undefined ? undefined : windowFrom(plan, spread, latest);
    if (open !== undefined && now < open.closesAt && runs.last()?.windowOpenedAt !== open.opensAt) return open;
    const opensAt = calendar.next(now);
    return opensAt === undefined ? undefined : windowFrom(plan, spread, opensAt);
  };

  return {
    async state(asked: AbortSignal): Promise<AutomaticUpdates> {
      const host = await ports.host();
      const next = nextWindow();
      return {
        enabled: true,
        what: plan.what,
        guard: plan.isGuarded,
        reboot: plan.reboot,
        blocked: host === undefined ? unmanaged : ((await findRival(host, ports.units, asked)) ?? null),
        next:
          next === undefined
            ? null
            : {
                opens_at: toTimestamp(next.opensAt),
                starts_at: toTimestamp(next.startsAt),
                closes_at: toTimestamp(next.closesAt),
              },
        last: lastOf(runs),
      };
    },
    start: (onTrouble: (error: unknown) => void) => clock.every(lookMs, () => look(onTrouble)),
    stop: () => stopping.abort(),
  };
}

function lastOf(runs: Pick<AutomaticRuns, "last">): AutomaticUpdates["last"] {
  const last = runs.last();
  if (last === undefined) return null;
  const { windowOpenedAt, endedAt, outcome, message, operationId, rebootAt } = last;
  return {
    window_opened_at: toTimestamp(windowOpenedAt),
    ended_at: toTimestamp(endedAt),
    outcome,
    message,
    operation_id: operationId,
    reboot_at: toNullableTimestamp(rebootAt),
  };
}
