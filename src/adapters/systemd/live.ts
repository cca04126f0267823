import type { Timers } from "#domain/ports/timers.ts";
import {
  type FailedUnit,
  type FoundUnit,
  UnitProtected,
  type UnitState,
  type Units,
  UnitsUnavailable,
} from "#domain/ports/units.ts";
import { defaultServicePolicy, type ServicePolicy } from "#domain/system/service-policy.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { calls, kindInterface, unitInterface } from "./calls.ts";
import type { Call } from "./connection.ts";
import { readMemory } from "./mirror.ts";
import {
  blankUnit,
  conditionIn,
  isOnDemand,
  type MirroredUnit,
  parseListedUnit,
  startingOf,
  staysActive,
  text,
  type UnitRun,
  unitNames,
  withProperties,
} from "./parse.ts";
import { lostResult, openSession, type Session, type SessionPorts } from "./session.ts";
import { createTimers } from "./timers.ts";

export interface Systemd extends Session {
  readonly clock: Clock;
  readonly policy: ServicePolicy;
}

async function inspectUnit(
  systemd: Systemd,
  name: string,
): Promise<{ readonly unit: FoundUnit; readonly run: UnitRun }> {
  await systemd.untilReady();
  const path = await systemd.call(calls.loadUnit(name), ([value]) => text(value));
  let unit = { ...blankUnit(name), path };
  let names: readonly string[] = [];
  let starting = startingOf({});
  let isConditionMet = true;
  const take = ([properties]: readonly unknown[]): void => {
    unit = withProperties(unit, properties);
  };
  await systemd.call(calls.getAll(path, unitInterface), ([properties]) => {
    names = unitNames(properties);
    starting = startingOf(properties);
    isConditionMet = conditionIn(properties) ?? !systemd.unmet.has(path);
    take([properties]);
  });
  const kind = kindInterface(name);
  if (kind !== undefined) await systemd.call(calls.getAll(path, kind), take);
  const subject = { ...unit, names: [name, ...names] };
  const refusal = systemd.policy.refusal(subject);
  const isWidened = refusal === undefined && defaultServicePolicy.refusal(subject) !== undefined;
  const { isManual, run } = starting;
  return { unit: { ...unit, memoryBytes: readMemory(unit), refusal, isWidened, isManual, isConditionMet }, run };
}

async function withResult({ call }: Session, name: string, path: string): Promise<FailedUnit> {
  const kind = kindInterface(name);
  if (kind === undefined) return { name, result: "" };
  const result = await call(calls.get(path, kind, "Result"), ([value]) => text(value));
  return { name, result };
}

async function listUnits(systemd: Systemd, listing: Call): Promise<readonly MirroredUnit[]> {
  await systemd.untilReady();
  const rows = await systemd.call(listing, ([list]) => (Array.isArray(list) ? list : []));
  return rows.flatMap((row) => parseListedUnit(row) ?? []);
}

async function failedUnits(systemd: Systemd): Promise<readonly FailedUnit[]> {
  const units = await listUnits(systemd, calls.listFailed());
  const sorted = units.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(sorted.map(({ name, path }) => withResult(systemd, name, path)));
}

async function withStay({ call }: Session, unit: MirroredUnit): Promise<UnitState> {
  const { name, loadState, activeState, subState, path } = unit;
  const state = { name, loadState, activeState, subState };
  if (activeState !== "active") return { ...state, staysActive: false };
  const properties = await call(calls.getAll(path, unitInterface), ([value]) => value);
  const kind = kindInterface(name);
  const ofKind = kind && (await call(calls.getAll(path, kind), ([value]) => value));
  const stays = staysActive(name, properties, ofKind);
  return { ...state, staysActive: stays, ...(isOnDemand(properties, ofKind) && { isOnDemand: true }) };
}

async function unitStates(systemd: Systemd, also: readonly string[]): Promise<readonly UnitState[]> {
  const units = await listUnits(systemd, calls.listOfEveryKind());
  const listed = new Set(units.map(({ name }) => name));
  const unlisted = also.filter((name) => !listed.has(name)).map((name) => inspectUnit(systemd, name));
  return Promise.all([
    ...units.map((unit) => withStay(systemd, unit)),
    ...unlisted.map(async (found) => ({ ...(await found).unit, staysActive: false })),
  ]);
}

const jobWaitMs = 25_000;
const jobPollMs = 100;
const othersWaitMs = 25_000;

/** The unit under its own name, for a restart: what the policy has judged is then what is restarted. @throws UnitProtected. */
async function permitted(systemd: Systemd, name: string): Promise<{ readonly name: string; readonly run: UnitRun }> {
  const { unit, run } = await inspectUnit(systemd, name);
  if (unit.refusal !== undefined) throw new UnitProtected(unit.refusal);
  return { name: unit.name, run };
}

/** How a restart ended whose result was lost with the bus. @param before the run that it was to end. */
async function resultByUnit(systemd: Systemd, name: string, before: UnitRun, signal: AbortSignal): Promise<string> {
  const { clock } = systemd;
  const untilMs = clock.monotonicMs() + jobWaitMs;
  await systemd.untilReady(jobWaitMs, signal);
  for (;;) {
    const { unit, run } = await inspectUnit(systemd, name);
    if (!run.hasJob) {
      if (unit.activeState === "failed") return "failed";
      // A unit that has ended may be unloaded, and shows nothing then.
      return run.invocation === "" || run.invocation === before.invocation ? "unknown" : "done";
    }
    if (signal.aborted || clock.monotonicMs() >= untilMs) return "running";
    await clock.sleep(jobPollMs, signal);
  }
}

async function restartUnit(systemd: Systemd, given: string, signal: AbortSignal): Promise<string> {
  const { clock, jobs } = systemd;
  const { name, run } = await permitted(systemd, given);
  const over = new AbortController();
  const stopWaiting = AbortSignal.any([signal, over.signal]);
  const down = systemd.lost();
  try {
    const job = systemd
      // In an object, since a promise as the reply would keep the call open until the job is over.
      .call(calls.restartUnit(name), ([path]) => ({ result: jobs.result(text(path)) }))
      .then(({ result }) => result)
      .catch((error: unknown) => {
        // When the reply is lost with the bus, so is the job's result.
        if (systemd.isUp()) throw error;
        return lostResult;
      });
    const result = await Promise.race([job, down.promise, clock.sleep(jobWaitMs, stopWaiting)]);
    if (signal.aborted) throw new UnitsUnavailable("cancelled; the restart itself goes on", true);
    if (result !== lostResult) return result ?? "running";
    return await resultByUnit(systemd, name, run, stopWaiting);
  } finally {
    down.stop();
    over.abort();
  }
}

async function restartDetached(systemd: Systemd, given: string): Promise<void> {
  const { name } = await permitted(systemd, given);
  await systemd.call(calls.restartUnit(name), () => undefined);
}

export interface LiveUnits extends Units {
  readonly timers: Timers;
  readonly ping: () => Promise<void>;
  readonly dispose: Dispose;
}

/** Service units over D-Bus: a mirror kept by signals, so that a listing costs no round trip. */
export function createLiveUnits(ports: SessionPorts & { readonly policy: ServicePolicy }): LiveUnits {
  const { clock, policy } = ports;
  const systemd: Systemd = { ...openSession(ports), clock, policy };
  return {
    timers: createTimers(systemd),
    list: () => systemd.list(),
    loaded: () => systemd.loaded(),
    failed: () => failedUnits(systemd),
    states: (also) => unitStates(systemd, also),
    read: async (name) => (await inspectUnit(systemd, name)).unit,
    restart: (name, signal) => restartUnit(systemd, name, signal),
    restartDetached: (name) => restartDetached(systemd, name),
    async resetFailed(name) {
      await systemd.call(calls.resetFailedUnit(name), () => undefined);
    },
    async settled(name, waitMs) {
      const over = new AbortController();
      const stop = systemd.watch(name, ({ activeState, subState }) => {
        if (activeState === "failed" || subState === "auto-restart") over.abort();
      });
      await clock.sleep(waitMs, over.signal);
      stop();
      // Where somebody else restarts it meanwhile, what counts is how it is afterwards.
      const untilMs = clock.monotonicMs() + othersWaitMs;
      for (;;) {
        const { unit, run } = await inspectUnit(systemd, name);
        if (over.signal.aborted || !run.hasJob || clock.monotonicMs() >= untilMs) return unit;
        await clock.sleep(jobPollMs);
      }
    },
    async ping() {
      // A service that has just started is still reading the units; a bus that was lost is to be reported at once.
      if (!systemd.wasReady()) await systemd.untilReady();
      await systemd.call(calls.getManager("Version"), () => undefined);
    },
    dispose: systemd.dispose,
  };
}
