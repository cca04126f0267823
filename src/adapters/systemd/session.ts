import type { UnitKind } from "#domain/ports/unit-details.ts";
import { type Unit, UnitsUnavailable } from "#domain/ports/units.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { calls, matchRules } from "./calls.ts";
import { type ObserveCall, openConnection, type Signal } from "./connection.ts";
import { createInstalledFiles, type Installed } from "./installed.ts";
import { createMemoryRefresh, createMirror } from "./mirror.ts";
import { conditionIn, type MirroredUnit } from "./parse.ts";

const maxResults = 256;

export const lostResult = "lost";

/** A job may be over before the reply that names it has been handled, so results are kept for a while. */
export function createJobs() {
  const results = new Map<string, string>();
  const waiting = new Map<string, ((result: string) => void)[]>();
  return {
    onSignal({ member, body }: Signal): void {
      if (member !== "JobRemoved") return;
      const [, path, , result] = body;
      if (typeof path !== "string" || typeof result !== "string") return;
      for (const report of waiting.get(path) ?? []) report(result);
      waiting.delete(path);
      results.set(path, result);
      for (const oldest of results.keys()) {
        if (results.size <= maxResults) break;
        results.delete(oldest);
      }
    },
    result(path: string): Promise<string> {
      const known = results.get(path);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => waiting.set(path, [...(waiting.get(path) ?? []), resolve]));
    },
    clear(): void {
      results.clear();
      for (const report of [...waiting.values()].flat()) report(lostResult);
      waiting.clear();
    },
  };
}

/** How long a request waits for the bus, and for a mirror that is being synchronised. */
const syncWaitMs = 5_000;

export type Session = ReturnType<typeof openSession>;

function createReadiness(clock: Clock) {
  let ready = Promise.withResolvers<void>();
  let isReady = false;
  let wasReady = false;
  const onLost = new Set<() => void>();
  return {
    wasReady: () => wasReady,
    up(): void {
      isReady = true;
      wasReady = true;
      ready.resolve();
    },
    down(): void {
      if (isReady) ready = Promise.withResolvers();
      isReady = false;
      for (const notify of onLost) notify();
    },
    until: async (waitMs = syncWaitMs, signal?: AbortSignal): Promise<void> => {
      if (isReady) return;
      await Promise.race([ready.promise, clock.sleep(waitMs, signal)]);
      if (!isReady) throw new UnitsUnavailable("the system bus does not answer", true);
    },
    lost: () => {
      const { promise, resolve } = Promise.withResolvers<typeof lostResult>();
      const notify = (): void => resolve(lostResult);
      onLost.add(notify);
      return { promise, stop: () => void onLost.delete(notify) };
    },
  };
}

/** Synchronises the mirror until nothing was reloaded meanwhile; those who come while it does wait for the same. */
function createSynchroniser(synchronise: () => Promise<void>) {
  let isStale = false;
  let running: Promise<void> | undefined;
  const run = (): Promise<void> => {
    running ??= (async () => {
      do {
        isStale = false;
        await synchronise();
      } while (isStale);
    })().finally(() => {
      running = undefined;
    });
    return running;
  };
  return {
    run,
    async settled(): Promise<void> {
      await running;
    },
    onReload(): void {
      isStale = true;
      void run().catch(() => undefined);
    },
  };
}

const loadedInstances = (units: ReadonlyMap<string, Unit>): readonly string[] =>
  [...units.values()]
    .filter(({ name, loadState }) => name.includes("@") && loadState === "loaded")
    .map(({ name }) => name);

function merge(
  loaded: ReadonlyMap<string, MirroredUnit>,
  installed: Installed,
  ofInstances: ReadonlyMap<string, string>,
): readonly Unit[] {
  const merged = new Map<string, Unit>();
  for (const [name, unit] of loaded) {
    const state = installed.get(name)?.unitFileState ?? ofInstances.get(name) ?? unit.unitFileState;
    merged.set(name, state === unit.unitFileState ? unit : { ...unit, unitFileState: state });
  }
  for (const [name, unit] of installed) if (!merged.has(name)) merged.set(name, unit);
  return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function noteCondition(unmet: Set<string>, { path, member, body }: Signal): void {
  const isMet = member === "PropertiesChanged" ? conditionIn(body[1]) : undefined;
  if (isMet === true) unmet.delete(path);
  if (isMet === false) unmet.add(path);
}

export interface SessionPorts {
  readonly clock: Clock;
  readonly socket?: string;
  readonly onStateChange: (state: { up: boolean; reason?: string }) => void;
  readonly observe?: ObserveCall | undefined;
}

export function openSession({ clock, socket, onStateChange, observe }: SessionPorts) {
  const jobs = createJobs();
  const readiness = createReadiness(clock);
  const watchers = new Set<(unit: MirroredUnit) => void>();
  const unmet = new Set<string>();
  let merged: { readonly installed: Installed; readonly list: readonly Unit[] } | undefined;

  const mirror = createMirror({
    call: (call, onReply) => connection.call(call, onReply),
    onChange(unit) {
      merged = undefined;
      for (const notify of watchers) notify(unit);
    },
    onReload() {
      installed.invalidate();
      merged = undefined;
      synchroniser.onReload();
    },
  });
  const synchroniser = createSynchroniser(async () => {
    await mirror.synchronise();
    merged = undefined;
  });
  const refreshMemory = createMemoryRefresh(mirror, clock);
  const connection = openConnection({
    clock,
    ...(socket !== undefined && { socket }),
    matchRules,
    observe,
    listener: {
      async onUp() {
        await connection.call(calls.subscribe(), () => undefined);
        // systemd has reported nothing that changed before that.
        installed.invalidate();
        await synchroniser.run();
        readiness.up();
        onStateChange({ up: true });
      },
      onDown(reason) {
        mirror.clear();
        jobs.clear();
        unmet.clear();
        installed.invalidate();
        merged = undefined;
        readiness.down();
        onStateChange({ up: false, reason });
      },
      onSignal(signal) {
        mirror.onSignal(signal);
        noteCondition(unmet, signal);
        jobs.onSignal(signal);
      },
    },
  });
  const installed = createInstalledFiles({ call: connection.call, monotonicMs: clock.monotonicMs });

  const inSync = async (): Promise<void> => {
    await readiness.until();
    await synchroniser.settled();
  };

  return {
    ...connection,
    jobs,
    untilReady: readiness.until,
    wasReady: readiness.wasReady,
    lost: readiness.lost,
    /** Paths of units whose conditions did not hold when systemd last checked. It forgets that when it unloads the unit. */
    unmet: unmet as ReadonlySet<string>,
    /** Unit files of kinds other than services. */
    installed: (kinds: readonly UnitKind[]): Promise<Installed> => installed.unitsOf(kinds),
    async loaded(): Promise<readonly Unit[]> {
      await inSync();
      return [...mirror.units().values()];
    },
    async list(): Promise<readonly Unit[]> {
      await inSync();
      refreshMemory();
      const files = await installed.units();
      if (merged?.installed === files) return merged.list;
      let states: ReadonlyMap<string, string>;
      do states = await installed.statesOfInstances(loadedInstances(mirror.units()));
      while (!loadedInstances(mirror.units()).every((name) => states.has(name)));
      merged = { installed: files, list: merge(mirror.units(), files, states) };
      return merged.list;
    },
    watch(name: string, onChange: (unit: MirroredUnit) => void): Dispose {
      const notify = (unit: MirroredUnit): void => {
        if (unit.name === name) onChange(unit);
      };
      watchers.add(notify);
      const known = mirror.units().get(name);
      if (known !== undefined) notify(known);
      return () => watchers.delete(notify);
    },
  };
}
