import { calls, managerInterface, propertiesInterface, serviceInterface, unitInterface } from "./calls.ts";
import type { Connection, Signal } from "./connection.ts";
import type { MirroredUnit } from "./parse.ts";
import { blankUnit, parseListedUnit, sinceProperty, withProperties } from "./parse.ts";

/** Loaded service units, kept up to date by systemd's signals, so that reading them costs no round trip. */
export interface Mirror {
  readonly units: () => ReadonlyMap<string, MirroredUnit>;
  /** Reads everything anew; resolves when the mirror is true. */
  readonly synchronise: () => Promise<void>;
  readonly clear: () => void;
  readonly onSignal: (signal: Signal) => void;
  readonly replace: (unit: MirroredUnit) => void;
}

const isService = (name: unknown): name is string => typeof name === "string" && name.endsWith(".service");

/**
 * @param onChange is told of each unit as it changes.
 * @param onReload is told that systemd has read its unit files anew, or has itself been replaced.
 */
export function createMirror(ports: {
  call: Connection["call"];
  onChange: (unit: MirroredUnit) => void;
  onReload: () => void;
}): Mirror {
  const { call, onChange, onReload } = ports;
  const byName = new Map<string, MirroredUnit>();
  const nameByPath = new Map<string, string>();
  const appeared = new Set<string>();
  /** While systemd reads its files anew it drops every unit and makes it again: none of them has stopped. */
  let isReloading = false;

  const put = (unit: MirroredUnit): void => {
    const before = byName.get(unit.name);
    if (before === unit) return;
    byName.set(unit.name, unit);
    nameByPath.set(unit.path, unit.name);
    onChange(unit);
  };

  const remove = (name: string): void => {
    const unit = byName.get(name);
    if (unit === undefined) return;
    byName.delete(name);
    nameByPath.delete(unit.path);
  };

  const change = (path: string, properties: unknown): void => {
    const unit = byName.get(nameByPath.get(path) ?? "");
    if (unit === undefined) return;
    const changed = withProperties(unit, properties);
    put(changed);
    // systemd sends no signal for the control group, which a unit gets when it is started.
    const needsGroup = changed.activeState === "active" && changed.controlGroup === "" && unit.activeState !== "active";
    if (needsGroup) void getProperty(path, serviceInterface, "ControlGroup").catch(() => undefined);
  };

  const getProperty = async (path: string, ofInterface: string, property: string): Promise<void> => {
    await call(calls.get(path, ofInterface, property), ([value]) => change(path, { [property]: value }));
  };

  /** Instances are not among the unit files that systemd lists. */
  const getFileState = async ({ name, path, loadState }: MirroredUnit): Promise<void> => {
    if (!name.includes("@") || loadState !== "loaded") return;
    const asked = call(calls.unitFileState(name), ([state]) => change(path, { UnitFileState: state }));
    // One without a file of its own has no such state.
    await asked.catch(() => undefined);
  };

  /**
   * What a listing leaves open. A unit that is not active is asked about only where asking cannot make
   * systemd load it again: a question about an unloaded unit loads it, which is a signal, which would
   * lead to the next question, for ever.
   */
  const complete = async (unit: MirroredUnit, isFirstSight: boolean): Promise<void> => {
    const { path } = unit;
    const isIdle = unit.activeState === "inactive";
    const fileState = getFileState(unit);
    if (isIdle && (isFirstSight || unit.loadState !== "loaded")) return fileState;
    const wanted: (readonly [string, string])[] = [[unitInterface, sinceProperty(unit.activeState)]];
    if (!isIdle) {
      for (const name of ["MainPID", "NRestarts", "Result", "ControlGroup"]) wanted.push([serviceInterface, name]);
    }
    await Promise.all([
      fileState,
      ...wanted.map(([ofInterface, property]) => getProperty(path, ofInterface, property)),
    ]);
    // One that has come to rest keeps the count of its automatic restarts.
    const hasRun = isIdle && byName.get(unit.name)?.since !== null;
    if (hasRun) await getProperty(path, serviceInterface, "NRestarts");
  };

  const takeListed = (rows: unknown): readonly MirroredUnit[] => {
    if (!Array.isArray(rows)) return [];
    const listed: MirroredUnit[] = [];
    for (const row of rows) {
      const unit = parseListedUnit(row);
      if (unit === undefined || !isService(unit.name)) continue;
      const known = byName.get(unit.name) ?? blankUnit(unit.name);
      const { description, loadState, activeState, subState, path } = unit;
      const merged = { ...known, description, loadState, activeState, subState, path };
      put(merged);
      listed.push(merged);
    }
    return listed;
  };

  /** Units that have just been loaded: they are listed together, since systemd often loads many at once. */
  const takeAppeared = async (): Promise<void> => {
    const names = [...appeared];
    appeared.clear();
    const listed = await call(calls.listLoaded(names), ([rows]) => takeListed(rows));
    await Promise.all(listed.map((unit) => complete(unit, true)));
  };

  const onManagerSignal = ({ member, body }: Signal): void => {
    const [first, , third] = body;
    switch (member) {
      case "UnitNew":
        if (!isService(first)) return;
        if (appeared.size === 0) setImmediate(() => void takeAppeared().catch(() => undefined));
        appeared.add(first);
        return;
      case "UnitRemoved":
        // What is really gone is missing in the listing that follows the reload.
        if (isService(first) && !isReloading) remove(first);
        return;
      case "UnitFilesChanged":
        onReload();
        return;
      case "Reloading":
        // true when it begins, false when it is over.
        isReloading = first === true;
        if (first === false) onReload();
        return;
      case "NameOwnerChanged":
        isReloading = false;
        // Its third argument is the new owner: systemd has come back, perhaps as another process.
        if (third !== "") onReload();
    }
  };

  return {
    units: () => byName,
    async synchronise() {
      const listed = await call(calls.listAllLoaded(), ([rows]) => {
        const present = new Set(Array.isArray(rows) ? rows.map((row) => parseListedUnit(row)?.name) : []);
        for (const name of byName.keys()) if (!present.has(name)) remove(name);
        return takeListed(rows);
      });
      await Promise.all(listed.map((unit) => complete(unit, false)));
    },
    clear() {
      byName.clear();
      nameByPath.clear();
      appeared.clear();
      isReloading = false;
    },
    onSignal(signal) {
      if (signal.interface === managerInterface || signal.member === "NameOwnerChanged") return onManagerSignal(signal);
      if (signal.interface === propertiesInterface && signal.member === "PropertiesChanged") {
        change(signal.path, signal.body[1]);
      }
    },
    replace: put,
  };
}
