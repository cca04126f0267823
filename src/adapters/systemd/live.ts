import type { FailedUnit, UnitStates } from "#domain/health/ports.ts";
import type { FoundUnit, Unit, Units } from "#domain/system/ports.ts";
import { UnitProtected, UnitsUnavailable } from "#domain/system/ports.ts";
import { defaultServicePolicy, type ServicePolicy } from "#domain/system/service-policy.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { calls, kindInterface, matchRules, unitInterface } from "./calls.ts";
import { type ObserveCall, openConnection, type Signal } from "./connection.ts";
import type { Installed } from "./installed.ts";
import { createInstalledFiles } from "./installed.ts";
import { createJobs, lostResult } from "./jobs.ts";
import { readMemory } from "./memory.ts";
import { createMirror } from "./mirror.ts";
import type { MirroredUnit } from "./parse.ts";
import {
  blankUnit,
  conditionIn,
  namesIn,
  parseListedUnit,
  startingOf,
  text,
  type UnitRun,
  withProperties,
} from "./parse.ts";

/** How long a restart waits for its job. */
const jobWaitMs = 25_000;
/** How often a unit is looked at whose job nobody can hear of any more. */
const jobPollMs = 100;
/** How long a question waits for the bus, and for a mirror that is being read anew. */
const syncWaitMs = 5_000;
/** Memory of the control groups is read at most this often. */
const memoryAgeMs = 5_000;

export interface LiveUnits extends Units, Pick<UnitStates, "failed"> {
  /**
   * Starts a unit and waits, as long as it takes, for the result of its job; of a unit that runs to its end that comes with the end.
   * @returns systemd's job result; `lost` when the bus went away meanwhile.
   * @throws UnitsUnavailable, UnitRefused.
   */
  readonly start: (name: string) => Promise<string>;
  /** @throws UnitsUnavailable when systemd does not answer over the bus. */
  readonly ping: () => Promise<void>;
  readonly dispose: Dispose;
}

const byName = (a: Unit, b: Unit): number => (a.name < b.name ? -1 : 1);

/** Loaded units and installed files as one list. */
function merge(loaded: ReadonlyMap<string, MirroredUnit>, installed: Installed): readonly Unit[] {
  const merged = new Map<string, Unit>();
  for (const [name, unit] of loaded) {
    const state = installed.get(name)?.unitFileState ?? unit.unitFileState;
    merged.set(name, state === unit.unitFileState ? unit : { ...unit, unitFileState: state });
  }
  for (const [name, unit] of installed) if (!merged.has(name)) merged.set(name, unit);
  return [...merged.values()].sort(byName);
}

/**
 * Service units over D-Bus: a mirror kept by signals, so that a listing costs no round trip.
 * It comes back by itself after the bus, or systemd, has been restarted.
 * @param ports `policy` says which units may be restarted; `onStateChange` is told when the connection becomes usable or is lost.
 */
export function createLiveUnits(ports: {
  clock: Clock;
  policy: ServicePolicy;
  socket?: string;
  onStateChange: (state: { up: boolean; reason?: string }) => void;
  observe?: ObserveCall | undefined;
}): LiveUnits {
  const { clock, policy, socket, onStateChange, observe } = ports;
  const jobs = createJobs();
  const watchers = new Set<(unit: MirroredUnit) => void>();
  /** Paths of units whose conditions did not hold when systemd last looked. It forgets that as soon as it unloads the unit. */
  const unmet = new Set<string>();
  const downWaiters = new Set<() => void>();
  let ready = Promise.withResolvers<void>();
  let isReady = false;
  let wasEverReady = false;
  let isStale = false;
  let synchronising: Promise<void> | undefined;
  let merged: { readonly installed: Installed; readonly list: readonly Unit[] } | undefined;
  let memoryReadAtMs = 0;

  const mirror = createMirror({
    call: (call, onReply) => connection.call(call, onReply),
    onChange(unit) {
      merged = undefined;
      for (const watch of watchers) watch(unit);
    },
    onReload() {
      installed.invalidate();
      merged = undefined;
      isStale = true;
      void synchronise().catch(() => undefined);
    },
  });

  const noteCondition = ({ path, member, body }: Signal): void => {
    const isMet = member === "PropertiesChanged" ? conditionIn(body[1]) : undefined;
    if (isMet === true) unmet.delete(path);
    if (isMet === false) unmet.add(path);
  };

  /** Reads the mirror anew until nothing has been reloaded meanwhile. */
  const synchronise = (): Promise<void> => {
    synchronising ??= (async () => {
      do {
        isStale = false;
        await mirror.synchronise();
        merged = undefined;
      } while (isStale);
    })().finally(() => {
      synchronising = undefined;
    });
    return synchronising;
  };

  const connection = openConnection({
    clock,
    ...(socket !== undefined && { socket }),
    matchRules,
    observe,
    listener: {
      async onUp() {
        await connection.call(calls.subscribe(), () => undefined);
        await synchronise();
        await installed.units();
        isReady = true;
        wasEverReady = true;
        ready.resolve();
        onStateChange({ up: true });
      },
      onDown(reason) {
        mirror.clear();
        jobs.clear();
        unmet.clear();
        installed.invalidate();
        merged = undefined;
        if (isReady) ready = Promise.withResolvers();
        isReady = false;
        for (const tell of downWaiters) tell();
        onStateChange({ up: false, reason });
      },
      onSignal(signal) {
        mirror.onSignal(signal);
        noteCondition(signal);
        jobs.onSignal(signal);
      },
    },
  });

  const installed = createInstalledFiles({ call: connection.call, monotonicMs: clock.monotonicMs });

  const untilReady = async (waitMs: number, signal?: AbortSignal): Promise<void> => {
    if (isReady) return;
    await Promise.race([ready.promise, clock.sleep(waitMs, signal)]);
    if (!isReady) throw new UnitsUnavailable("the system bus does not answer", true);
  };

  const refreshMemory = (): void => {
    const now = clock.monotonicMs();
    if (now - memoryReadAtMs < memoryAgeMs) return;
    memoryReadAtMs = now;
    for (const unit of mirror.units().values()) {
      const memoryBytes = readMemory(unit);
      if (memoryBytes !== unit.memoryBytes) mirror.replace({ ...unit, memoryBytes });
    }
  };

  const inspect = async (name: string): Promise<{ unit: FoundUnit; run: UnitRun }> => {
    await untilReady(syncWaitMs);
    const path = await connection.call(calls.loadUnit(name), ([value]) => text(value));
    let unit = { ...blankUnit(name), path };
    let names: readonly string[] = [];
    let starting = startingOf({});
    let isConditionMet = true;
    const take = ([properties]: readonly unknown[]): void => {
      unit = withProperties(unit, properties);
    };
    await connection.call(calls.getAll(path, unitInterface), ([properties]) => {
      names = namesIn(properties);
      starting = startingOf(properties);
      isConditionMet = conditionIn(properties) ?? !unmet.has(path);
      take([properties]);
    });
    const kind = kindInterface(name);
    if (kind !== undefined) await connection.call(calls.getAll(path, kind), take);
    const subject = { ...unit, names: [name, ...names] };
    const refusal = policy.refusal(subject);
    const isWidened = refusal === undefined && defaultServicePolicy.refusal(subject) !== undefined;
    const { isManual, run } = starting;
    return { unit: { ...unit, memoryBytes: readMemory(unit), refusal, isWidened, isManual, isConditionMet }, run };
  };

  /** The unit under its own name, for a restart: what the policy has judged is then what is restarted. */
  const permitted = async (name: string): Promise<{ name: string; run: UnitRun }> => {
    const { unit, run } = await inspect(name);
    if (unit.refusal !== undefined) throw new UnitProtected(unit.refusal);
    return { name: unit.name, run };
  };

  /**
   * How a restart ended whose result was lost with the bus. The unit shows it once no job is left.
   * @param before the run that the restart was to end.
   */
  const resultByUnit = async (name: string, before: UnitRun, signal: AbortSignal): Promise<string> => {
    const untilMs = clock.monotonicMs() + jobWaitMs;
    await untilReady(jobWaitMs, signal);
    for (;;) {
      const { unit, run } = await inspect(name);
      if (!run.hasJob) {
        if (unit.activeState === "failed") return "failed";
        // A unit that has ended may be unloaded, and shows nothing then.
        return run.invocation === "" || run.invocation === before.invocation ? "unknown" : "done";
      }
      if (signal.aborted || clock.monotonicMs() >= untilMs) return "running";
      await clock.sleep(jobPollMs, signal);
    }
  };

  const withResult = async ({ name, path }: MirroredUnit): Promise<FailedUnit> => {
    const kind = kindInterface(name);
    if (kind === undefined) return { name, result: "" };
    const result = await connection.call(calls.get(path, kind, "Result"), ([value]) => text(value));
    return { name, result };
  };

  /** The mirror holds services only, so that systemd is asked; it is one question, and one more for each that has failed. */
  const failed = async (): Promise<readonly FailedUnit[]> => {
    await untilReady(syncWaitMs);
    const rows = await connection.call(calls.listFailed(), ([list]) => (Array.isArray(list) ? list : []));
    const units = rows.flatMap((row) => parseListedUnit(row) ?? []);
    return Promise.all(units.toSorted(byName).map(withResult));
  };

  /** Rejects never; resolves once the connection is lost. */
  const lost = (): { promise: Promise<typeof lostResult>; stop: () => void } => {
    const { promise, resolve } = Promise.withResolvers<typeof lostResult>();
    const tell = (): void => resolve(lostResult);
    downWaiters.add(tell);
    return { promise, stop: () => downWaiters.delete(tell) };
  };

  async function restart(given: string, signal: AbortSignal): Promise<string> {
    const { name, run } = await permitted(given);
    const over = new AbortController();
    const stopWaiting = AbortSignal.any([signal, over.signal]);
    const down = lost();
    try {
      const job = connection
        // In an object, since a promise as the reply would keep the call open until the job is over.
        .call(calls.restartUnit(name), ([path]) => ({ result: jobs.result(text(path)) }))
        .then(({ result }) => result)
        .catch((error: unknown) => {
          // The reply may be lost together with the bus: then it is as if the job's result were.
          if (connection.isUp()) throw error;
          return lostResult;
        });
      const result = await Promise.race([job, down.promise, clock.sleep(jobWaitMs, stopWaiting)]);
      if (signal.aborted) throw new UnitsUnavailable("cancelled; the restart itself goes on", true);
      if (result !== lostResult) return result ?? "running";
      return await resultByUnit(name, run, stopWaiting);
    } finally {
      down.stop();
      over.abort();
    }
  }

  async function start(name: string): Promise<string> {
    await untilReady(syncWaitMs);
    const down = lost();
    try {
      const job = connection
        .call(calls.startUnit(name), ([path]) => ({ result: jobs.result(text(path)) }))
        .then(({ result }) => result);
      return await Promise.race([job, down.promise]);
    } finally {
      down.stop();
    }
  }

  return {
    start,
    async list() {
      await untilReady(syncWaitMs);
      if (synchronising !== undefined) await synchronising;
      refreshMemory();
      const files = await installed.units();
      if (merged?.installed !== files) merged = { installed: files, list: merge(mirror.units(), files) };
      return merged.list;
    },
    failed,
    read: async (name) => (await inspect(name)).unit,
    restart,
    async restartDetached(name) {
      await connection.call(calls.restartUnit((await permitted(name)).name), () => undefined);
    },
    async resetFailed(name) {
      await connection.call(calls.resetFailedUnit(name), () => undefined);
    },
    async settled(name, waitMs) {
      const over = new AbortController();
      const watch = (unit: MirroredUnit): void => {
        if (unit.name === name && (unit.activeState === "failed" || unit.subState === "auto-restart")) over.abort();
      };
      watchers.add(watch);
      const known = mirror.units().get(name);
      if (known !== undefined) watch(known);
      await clock.sleep(waitMs, over.signal);
      watchers.delete(watch);
    },
    async ping() {
      // A service that has just started is still reading the units; a bus that was lost is to be reported at once.
      if (!wasEverReady) await untilReady(syncWaitMs);
      await connection.call(calls.getManager("Version"), () => undefined);
    },
    dispose: connection.dispose,
  };
}
