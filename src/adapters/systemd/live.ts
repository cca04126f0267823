import { readlink } from "node:fs/promises";
import { resolve } from "node:path";
import type { UnitDetails } from "#domain/ports/unit-details.ts";
import {
  type AlsoChanged,
  type Confirmation,
  type FailedUnit,
  type FoundUnit,
  isRunning,
  type NamedUnit,
  nameOf,
  notInstallable,
  refusalOf,
  type Timers,
  type UnitFileChange,
  type UnitFileJob,
  type UnitFileVerb,
  type UnitJob,
  UnitProtected,
  UnitRefused,
  type UnitState,
  type Units,
  UnitsUnavailable,
  type UnitVerb,
  unconfirmed,
} from "#domain/ports/units.ts";
import { defaultServicePolicy, type ServicePolicy } from "#domain/system/service-policy.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errnoCode, isNotFound, orUndefined } from "#kernel/errors.ts";
import { calls, kindInterface, unitInterface } from "./calls.ts";
import type { Call } from "./connection.ts";
import { createUnitDetails } from "./details.ts";
import { readMemory } from "./mirror.ts";
import {
  activeStateIn,
  blankUnit,
  changedAlong,
  conditionIn,
  fragmentIn,
  hasOwnFile,
  isOnDemand,
  type MirroredUnit,
  parseFileChanges,
  parseListedUnit,
  portsIn,
  restartIn,
  startingOf,
  staysActive,
  text,
  unitNames,
  withProperties,
} from "./parse.ts";
import { lostResult, openSession, type Session, type SessionPorts } from "./session.ts";
import { createTimers } from "./timers.ts";

export interface Systemd extends Session {
  readonly clock: Clock;
  readonly policy: ServicePolicy;
}

const isNoLink = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "EINVAL";

/** Where the file of a unit leads, which systemd does not say. */
async function linkedFileOf(file: string): Promise<string> {
  const target = file === "" ? undefined : await orUndefined(readlink(file), isNoLink);
  return target === undefined || target === "/dev/null" ? "" : resolve(file, "..", target);
}

async function inspectUnit(
  systemd: Systemd,
  name: string,
): Promise<{ readonly unit: FoundUnit; readonly hasJob: boolean }> {
  await systemd.untilReady();
  const path = await systemd.call(calls.loadUnit(name), ([value]) => text(value));
  let unit = { ...blankUnit(name), path };
  let names: readonly string[] = [];
  let starting = startingOf({});
  let isConditionMet = true;
  let restart = "";
  let file = "";
  const take = ([properties]: readonly unknown[]): void => {
    unit = withProperties(unit, properties);
  };
  await systemd.call(calls.getAll(path, unitInterface), ([properties]) => {
    names = unitNames(properties);
    starting = startingOf(properties);
    file = fragmentIn(properties);
    isConditionMet = conditionIn(properties) ?? !systemd.unmet.has(path);
    take([properties]);
  });
  const kind = kindInterface(name);
  if (kind !== undefined)
    await systemd.call(calls.getAll(path, kind), ([properties]) => {
      restart = restartIn(properties);
      take([properties]);
    });
  const subject = { ...unit, names: [name, ...names] };
  const refusal = systemd.policy.refusal(subject);
  const isWidened = refusal === undefined && defaultServicePolicy.refusal(subject) !== undefined;
  const { can, invocation, hasJob } = starting;
  const memoryBytes = readMemory(unit);
  const linkedFile = await linkedFileOf(file);
  const found = { refusal, isWidened, can, invocation, isConditionMet, restart, file, linkedFile };
  return { unit: { ...unit, memoryBytes, ...found }, hasJob };
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
  const waitsAt = portsIn(ofKind);
  return {
    ...state,
    staysActive: staysActive(name, properties, ofKind),
    ...(isOnDemand(properties, ofKind) && { isOnDemand: true }),
    ...(hasOwnFile(properties) && { hasFile: true }),
    ...(waitsAt.length > 0 && { waitsAt }),
  };
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

/** The unit under its own name: what the policy has judged is then what is changed. @throws UnitProtected. */
async function permitted(
  systemd: Systemd,
  verb: UnitVerb | UnitFileVerb,
  given: NamedUnit,
  confirmation: Confirmation = unconfirmed,
): Promise<FoundUnit> {
  const unit = typeof given === "string" ? (await inspectUnit(systemd, given)).unit : given;
  const refusal = refusalOf(unit, confirmation, verb);
  if (refusal !== undefined) throw new UnitProtected(refusal);
  return unit;
}

/** Whether a unit without a job shows that a job of this kind is done; undefined where it cannot. */
function showsDone(verb: UnitVerb, unit: FoundUnit, isSameRun: boolean): boolean | undefined {
  if (verb === "stop") return unit.activeState === "inactive";
  if (verb === "start" && isRunning(unit)) return true;
  return verb !== "reload" && !isSameRun ? true : undefined;
}

/** How a job ended whose result was lost with the bus. @param before the unit before it. */
async function resultByUnit(systemd: Systemd, verb: UnitVerb, before: FoundUnit, signal: AbortSignal): Promise<string> {
  const { clock } = systemd;
  const untilMs = clock.monotonicMs() + jobWaitMs;
  await systemd.untilReady(jobWaitMs, signal);
  for (;;) {
    const { unit, hasJob } = await inspectUnit(systemd, before.name);
    if (!hasJob) {
      if (unit.activeState === "failed") return "failed";
      // A unit that has ended may be unloaded, and shows nothing then.
      const isSameRun = unit.invocation === "" || unit.invocation === before.invocation;
      return showsDone(verb, unit, isSameRun) === true ? "done" : "unknown";
    }
    if (signal.aborted || clock.monotonicMs() >= untilMs) return "running";
    await clock.sleep(jobPollMs, signal);
  }
}

async function changeUnit(
  systemd: Systemd,
  verb: UnitVerb,
  ...[given, signal, confirmation]: Parameters<UnitJob>
): Promise<string> {
  const { clock, jobs } = systemd;
  const before = await permitted(systemd, verb, given, confirmation);
  const over = new AbortController();
  const stopWaiting = AbortSignal.any([signal, over.signal]);
  const down = systemd.lost();
  try {
    const job = systemd
      // In an object, since a promise as the reply would keep the call open until the job is over.
      .call(calls.changeUnit(verb, before.name), ([path]) => ({ result: jobs.result(text(path)) }))
      .then(({ result }) => result)
      .catch((error: unknown) => {
        // When the reply is lost with the bus, so is the job's result.
        if (systemd.isUp()) throw error;
        return lostResult;
      });
    const result = await Promise.race([job, down.promise, clock.sleep(jobWaitMs, stopWaiting)]);
    if (signal.aborted) throw new UnitsUnavailable(`cancelled; the ${verb} itself continues`, true);
    if (result !== lostResult) return result ?? "running";
    return await resultByUnit(systemd, verb, before, stopWaiting);
  } finally {
    down.stop();
    over.abort();
  }
}

/** Of links that last and of those until the next boot: a unit may have both. */
async function changeFile(
  systemd: Systemd,
  verb: UnitFileVerb,
  ...[given, confirmation]: Parameters<UnitFileJob>
): Promise<readonly UnitFileChange[]> {
  const { name } = await permitted(systemd, verb, given, confirmation);
  const untilReboot = verb === "disable" || verb === "unmask" ? [false, true] : [false];
  const changes: UnitFileChange[] = [];
  for (const isRuntime of untilReboot) {
    const call = calls.changeUnitFile(verb, name, isRuntime);
    const [isInstallable, made] = await systemd.call(
      call,
      (reply) => [reply[0], parseFileChanges(reply.at(-1))] as const,
    );
    // A linked file that nothing wants is "linked", whether it says what would want it or not.
    if (verb === "enable" && isInstallable === false && made.length === 0)
      throw new UnitRefused(`${notInstallable.reason} (${notInstallable.remedy})`);
    changes.push(...made);
    // Without the link there may be no file of it left, and systemd would refuse to disable that until the next boot.
    if (verb === "disable" && made.some(({ path }) => path === `/etc/systemd/system/${name}`)) break;
  }
  await systemd.call(calls.reload(), () => undefined);
  return changes;
}

/** So many units are inspected; a plan that names more is not read by anybody. */
const maxAlong = 200;

/** Follows dependencies from unit to unit, as systemd does when it makes a transaction. */
async function alsoChanged(systemd: Systemd, verb: UnitVerb, name: string): Promise<readonly AlsoChanged[]> {
  await systemd.untilReady();
  const propertiesOf = async (unit: string): Promise<unknown> => {
    const path = await systemd.call(calls.loadUnit(unit), ([value]) => text(value));
    return systemd.call(calls.getAll(path, unitInterface), ([value]) => value);
  };
  const seen = new Set([name]);
  const changed: AlsoChanged[] = [];
  const take = async (unit: string, does: AlsoChanged["verb"], isWanted: (state: string) => boolean) => {
    if (seen.has(unit) || seen.size > maxAlong) return undefined;
    seen.add(unit);
    const properties = await propertiesOf(unit);
    const activeState = activeStateIn(properties);
    if (!isWanted(activeState)) return undefined;
    const names = [unit, ...unitNames(properties)];
    const refusal = does === "stop" ? systemd.policy.refusal({ name: unit, names, activeState }) : undefined;
    changed.push({ name: unit, verb: does, ...(refusal !== undefined && { refusal }) });
    return properties;
  };
  const isActive = (state: string): boolean => state !== "inactive" && state !== "failed";
  const own = await propertiesOf(name);
  const queue = [own];
  for (let properties = queue.shift(); properties !== undefined; properties = queue.shift()) {
    const { same, stopped } = changedAlong(verb, properties);
    for (const unit of same) {
      const found = await take(unit, verb, (state) => isActive(state) === (verb !== "start"));
      if (found !== undefined) queue.push(found);
    }
    for (const unit of stopped) await take(unit, "stop", isActive);
  }
  for (const unit of changedAlong(verb, own).triggers) await take(unit, "trigger", isActive);
  return changed;
}

async function restartDetached(systemd: Systemd, given: string): Promise<void> {
  const { name } = await permitted(systemd, "restart", given);
  await systemd.call(calls.changeUnit("restart", name), () => undefined);
}

export interface LiveUnits extends Units {
  readonly timers: Timers;
  readonly details: UnitDetails;
  readonly ping: () => Promise<void>;
  readonly dispose: Dispose;
}

/** Service units over D-Bus: a mirror kept by signals, so that a listing costs no round trip. */
export function createLiveUnits(ports: SessionPorts & { readonly policy: ServicePolicy }): LiveUnits {
  const { clock, policy } = ports;
  const systemd: Systemd = { ...openSession(ports), clock, policy };
  return {
    timers: createTimers(systemd),
    details: createUnitDetails({ ...systemd, now: clock.now }),
    list: () => systemd.list(),
    loaded: () => systemd.loaded(),
    failed: () => failedUnits(systemd),
    states: (also) => unitStates(systemd, also),
    read: async (name) => (await inspectUnit(systemd, name)).unit,
    restart: (...job) => changeUnit(systemd, "restart", ...job),
    start: (...job) => changeUnit(systemd, "start", ...job),
    stop: (...job) => changeUnit(systemd, "stop", ...job),
    reload: (...job) => changeUnit(systemd, "reload", ...job),
    enable: (...job) => changeFile(systemd, "enable", ...job),
    disable: (...job) => changeFile(systemd, "disable", ...job),
    mask: (...job) => changeFile(systemd, "mask", ...job),
    unmask: (...job) => changeFile(systemd, "unmask", ...job),
    alsoChanged: (verb, name) => alsoChanged(systemd, verb, name),
    restartDetached: (name) => restartDetached(systemd, name),
    async resetFailed(unit) {
      await systemd.call(calls.resetFailedUnit(nameOf(unit)), () => undefined);
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
        const { unit, hasJob } = await inspectUnit(systemd, name);
        if (over.signal.aborted || !hasJob || clock.monotonicMs() >= untilMs) return unit;
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
