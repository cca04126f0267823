import { readFileSync } from "node:fs";
import type { Clock } from "#kernel/clock.ts";
import { calls, managerInterface, propertiesInterface, serviceInterface, unitInterface } from "./calls.ts";
import type { Connection, Signal } from "./connection.ts";
import { blankUnit, type MirroredUnit, parseListedUnit, sinceProperty, withProperties } from "./parse.ts";

const isService = (name: unknown): name is string => typeof name === "string" && name.endsWith(".service");

interface MirrorState {
  readonly call: Connection["call"];
  readonly onChange: (unit: MirroredUnit) => void;
  readonly onReload: () => void;
  readonly byName: Map<string, MirroredUnit>;
  readonly nameByPath: Map<string, string>;
  readonly appeared: Set<string>;
  /** While systemd reloads its files it drops every unit and makes it again: none of them has stopped. */
  isReloading: boolean;
}

function put({ byName, nameByPath, onChange }: MirrorState, unit: MirroredUnit): void {
  if (byName.get(unit.name) === unit) return;
  byName.set(unit.name, unit);
  nameByPath.set(unit.path, unit.name);
  onChange(unit);
}

function dropUnit({ byName, nameByPath }: MirrorState, name: string): void {
  const unit = byName.get(name);
  if (unit === undefined) return;
  byName.delete(name);
  nameByPath.delete(unit.path);
}

function change(mirror: MirrorState, path: string, properties: unknown): void {
  const unit = mirror.byName.get(mirror.nameByPath.get(path) ?? "");
  if (unit === undefined) return;
  const changed = withProperties(unit, properties);
  put(mirror, changed);
  // systemd sends no signal for the control group, which a unit gets when it is started.
  const needsGroup = changed.activeState === "active" && changed.controlGroup === "" && unit.activeState !== "active";
  if (needsGroup) void getProperty(mirror, path, serviceInterface, "ControlGroup").catch(() => undefined);
}

async function getProperty(mirror: MirrorState, path: string, ofInterface: string, property: string): Promise<void> {
  await mirror.call(calls.get(path, ofInterface, property), ([value]) => change(mirror, path, { [property]: value }));
}

/** An inactive unit is asked about only where that cannot load it: a loaded unit is a signal, and so on without end. */
async function complete(mirror: MirrorState, unit: MirroredUnit, isFirstSight: boolean): Promise<void> {
  const { path } = unit;
  const isIdle = unit.activeState === "inactive";
  if (isIdle && (isFirstSight || unit.loadState !== "loaded")) return;
  const wanted: (readonly [string, string])[] = [[unitInterface, sinceProperty(unit.activeState)]];
  if (!isIdle) {
    for (const name of ["MainPID", "NRestarts", "Result", "ControlGroup"]) wanted.push([serviceInterface, name]);
  }
  await Promise.all(wanted.map(([ofInterface, property]) => getProperty(mirror, path, ofInterface, property)));
  // One that has come to rest keeps the count of its automatic restarts.
  const hasRun = isIdle && mirror.byName.get(unit.name)?.since !== null;
  if (hasRun) await getProperty(mirror, path, serviceInterface, "NRestarts");
}

function takeListed(mirror: MirrorState, rows: unknown): readonly MirroredUnit[] {
  if (!Array.isArray(rows)) return [];
  const listed: MirroredUnit[] = [];
  for (const row of rows) {
    const unit = parseListedUnit(row);
    if (unit === undefined || !isService(unit.name)) continue;
    const known = mirror.byName.get(unit.name) ?? blankUnit(unit.name);
    const { description, loadState, activeState, subState, path } = unit;
    const merged = { ...known, description, loadState, activeState, subState, path };
    put(mirror, merged);
    listed.push(merged);
  }
  return listed;
}

async function takeAppeared(mirror: MirrorState): Promise<void> {
  const names = [...mirror.appeared];
  mirror.appeared.clear();
  const listed = await mirror.call(calls.listLoaded(names), ([rows]) => takeListed(mirror, rows));
  await Promise.all(listed.map((unit) => complete(mirror, unit, true)));
}

function onManagerSignal(mirror: MirrorState, { member, body }: Signal): void {
  const [first, , third] = body;
  switch (member) {
    case "UnitNew":
      if (!isService(first)) return;
      if (mirror.appeared.size === 0) setImmediate(() => void takeAppeared(mirror).catch(() => undefined));
      mirror.appeared.add(first);
      return;
    case "UnitRemoved":
      if (isService(first) && !mirror.isReloading) dropUnit(mirror, first);
      return;
    case "UnitFilesChanged":
      mirror.onReload();
      return;
    case "Reloading":
      mirror.isReloading = first === true;
      if (first === false) mirror.onReload();
      return;
    case "NameOwnerChanged":
      mirror.isReloading = false;
      // Its third argument is the new owner: systemd has come back, perhaps as another process.
      if (third !== "") mirror.onReload();
  }
}

export function createMirror(ports: Pick<MirrorState, "call" | "onChange" | "onReload">) {
  const byName = new Map<string, MirroredUnit>();
  const mirror: MirrorState = { ...ports, byName, nameByPath: new Map(), appeared: new Set(), isReloading: false };
  return {
    units: (): ReadonlyMap<string, MirroredUnit> => byName,
    /** Reads everything. */
    async synchronise(): Promise<void> {
      const listed = await mirror.call(calls.listAllLoaded(), ([rows]) => {
        const present = new Set(Array.isArray(rows) ? rows.map((row) => parseListedUnit(row)?.name) : []);
        for (const name of byName.keys()) if (!present.has(name)) dropUnit(mirror, name);
        return takeListed(mirror, rows);
      });
      await Promise.all(listed.map((unit) => complete(mirror, unit, false)));
    },
    clear(): void {
      byName.clear();
      mirror.nameByPath.clear();
      mirror.appeared.clear();
      mirror.isReloading = false;
    },
    onSignal(signal: Signal): void {
      const { member, path, body } = signal;
      if (signal.interface === managerInterface || member === "NameOwnerChanged") onManagerSignal(mirror, signal);
      else if (signal.interface === propertiesInterface && member === "PropertiesChanged")
        change(mirror, path, body[1]);
    },
    replace: (unit: MirroredUnit): void => put(mirror, unit),
  };
}

const files = (controlGroup: string): readonly string[] => [
  `/sys/fs/cgroup${controlGroup}/memory.current`,
  `/sys/fs/cgroup/memory${controlGroup}/memory.usage_in_bytes`,
];

/** Null where it is not accounted. systemd sends no signals for it. */
export function readMemory(unit: MirroredUnit): number | null {
  if (unit.controlGroup === "" || unit.activeState === "inactive") return null;
  for (const file of files(unit.controlGroup)) {
    try {
      const bytes = Number(readFileSync(file, "utf8"));
      return Number.isSafeInteger(bytes) ? bytes : null;
    } catch {}
  }
  return null;
}

const maxAgeMs = 5_000;

export function createMemoryRefresh(
  mirror: Pick<ReturnType<typeof createMirror>, "units" | "replace">,
  clock: Pick<Clock, "monotonicMs">,
) {
  let readAtMs = 0;
  return (): void => {
    const now = clock.monotonicMs();
    if (now - readAtMs < maxAgeMs) return;
    readAtMs = now;
    for (const unit of mirror.units().values()) {
      const memoryBytes = readMemory(unit);
      if (memoryBytes !== unit.memoryBytes) mirror.replace({ ...unit, memoryBytes });
    }
  };
}
