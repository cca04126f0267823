import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { KindUnit, UnitDetails, UnitKind } from "#domain/ports/unit-details.ts";
import { type Unit, type Units, UnitsUnavailable } from "#domain/ports/units.ts";
import { orElse } from "#kernel/errors.ts";
import { blankUnit, parseUnitFile } from "./parse.ts";

/** Unit directories, the ones that win first (systemd.unit(5)). */
const unitDirectories = [
  "/etc/systemd/system",
  "/run/systemd/system",
  "/usr/local/lib/systemd/system",
  "/usr/lib/systemd/system",
  "/lib/systemd/system",
];

const names = (directory: string): readonly string[] => orElse(() => readdirSync(directory), []);
const linkTarget = (path: string): string | undefined => orElse(() => readlinkSync(path), undefined);

/** What is pulled in by a unit, or has an alias, in a unit directory. */
function enabledIn(directory: string): ReadonlySet<string> {
  const enabled = new Set<string>();
  for (const entry of names(directory)) {
    if (/\.(wants|requires)$/.test(entry)) for (const name of names(join(directory, entry))) enabled.add(name);
    const target = linkTarget(join(directory, entry));
    if (target !== undefined && target !== "/dev/null" && basename(target) !== entry) enabled.add(basename(target));
  }
  return enabled;
}

const templateOf = (name: string): string => name.replace(/@[^.]*\./, "@.");

const stateWhenNotEnabled = { links: "disabled", also: "indirect", none: "static" } as const;

function readUnit(root: string, path: string, name: string, isEnabled: (name: string) => string | undefined): Unit {
  const target = linkTarget(path);
  const blank = blankUnit(name);
  if (target === "/dev/null") return { ...blank, unitFileState: "masked" };
  // A link may lead to an absolute path, which is meant below the root.
  const file = target?.startsWith("/") ? join(root, target) : path;
  try {
    const text = readFileSync(file, "utf8");
    const { description, install } = parseUnitFile(text);
    if (text === "") return { ...blank, unitFileState: "masked" };
    if (target !== undefined && basename(target) !== name) return { ...blank, description, unitFileState: "alias" };
    return { ...blank, description, unitFileState: isEnabled(name) ?? stateWhenNotEnabled[install] };
  } catch {
    return { ...blank, unitFileState: "bad" };
  }
}

/** @param suffix of the kind of units that is wanted. */
export function readInstalledUnits(root = "/", suffix = ".service"): readonly Unit[] {
  const lasting = enabledIn(join(root, "/etc/systemd/system"));
  const untilReboot = enabledIn(join(root, "/run/systemd/system"));
  const templates = new Set([...lasting].map(templateOf));
  const isEnabled = (name: string): string | undefined => {
    if (lasting.has(name) || (name.includes("@.") && templates.has(name))) return "enabled";
    return untilReboot.has(name) ? "enabled-runtime" : undefined;
  };
  const units = new Map<string, Unit>();
  for (const directory of unitDirectories) {
    for (const name of names(join(root, directory))) {
      if (!name.endsWith(suffix) || units.has(name)) continue;
      units.set(name, readUnit(root, join(root, directory, name), name, isEnabled));
    }
  }
  const isOtherName = ({ name, unitFileState }: Unit): boolean => {
    if (unitFileState !== "alias") return false;
    const paths = unitDirectories.map((directory) => linkTarget(join(root, directory, name)));
    return units.has(basename(paths.find((path) => path !== undefined) ?? ""));
  };
  return [...units.values()].filter((unit) => !isOtherName(unit)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What reads units again, and answers with the objects of the time before where they are equal: entity tags follow objects. */
function createStableList(read: () => readonly Unit[]): () => readonly Unit[] {
  let known = new Map<string, Unit>();
  return () => {
    const units = read().map((unit) => {
      const before = known.get(unit.name);
      return before !== undefined && isDeepStrictEqual(before, unit) ? before : unit;
    });
    known = new Map(units.map((unit) => [unit.name, unit]));
    return units;
  };
}

const absence = "systemd is not running on this host";
const refuse = (): Promise<never> => Promise.reject(new UnitsUnavailable(absence, false));

export function createOfflineUnits(root = "/"): Units {
  const list = createStableList(() => readInstalledUnits(root));
  return {
    absence,
    list: () => Promise.resolve(list()),
    loaded: () => Promise.resolve(undefined),
    failed: () => Promise.resolve(undefined),
    states: () => Promise.resolve(undefined),
    read: refuse,
    resetFailed: refuse,
    restart: refuse,
    start: refuse,
    stop: refuse,
    reload: refuse,
    enable: refuse,
    disable: refuse,
    mask: refuse,
    unmask: refuse,
    alsoChanged: refuse,
    restartDetached: refuse,
    settled: refuse,
  };
}

const toKindUnit = (unit: Unit, kind: UnitKind): KindUnit => {
  const { name, description, loadState, activeState, subState, unitFileState, since } = unit;
  return { name, kind, description, loadState, activeState, subState, unitFileState, since, result: "" };
};

export const createOfflineDetails = (root = "/"): UnitDetails => ({
  absence,
  inspect: refuse,
  async list({ kinds, activeState, limit }) {
    const units = kinds
      .flatMap((kind) => readInstalledUnits(root, `.${kind}`).map((unit) => toKindUnit(unit, kind)))
      .filter((unit) => activeState === undefined || unit.activeState === activeState)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return Promise.resolve({ units: units.slice(0, limit), total: units.length });
  },
});
