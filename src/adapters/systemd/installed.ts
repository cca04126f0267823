import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { UnitKind } from "#domain/ports/unit-details.ts";
import { orElse } from "#kernel/errors.ts";
import { calls } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { blankUnit, type MirroredUnit, parseUnitFile, parseUnitFileRow, text } from "./parse.ts";

const lookAgainMs = 1_000;

export type Installed = ReadonlyMap<string, MirroredUnit>;

const readDescription = (path: string): string =>
  orElse(() => parseUnitFile(readFileSync(path, "utf8")).description, "");

/** Directories of links and of drop-ins, which may say what would want a unit. */
const namedAfterUnits = (directory: string): readonly string[] =>
  orElse(() => readdirSync(directory), [])
    .filter((name) => /\.(wants|requires|upholds|d)$/.test(name))
    .map((name) => join(directory, name));

const targetName = (path: string): string => orElse(() => basename(realpathSync(path)), "");

interface InstalledFile {
  readonly name: string;
  readonly path: string;
  readonly state: string;
}

/** The unit files of a listing, less those that are other names of one among them. */
function installedFiles(rows: readonly unknown[]): readonly InstalledFile[] {
  const files = rows.flatMap((row) => parseUnitFileRow(row) ?? []);
  const names = new Set(files.map(({ path }) => basename(path)));
  return files.flatMap((file) => {
    const name = basename(file.path);
    // A link to a file outside of the unit directories is called an alias as well, and is the only name of its unit.
    const target = file.state === "alias" ? targetName(file.path) : name;
    return target !== name && names.has(target) ? [] : { ...file, name };
  });
}

/** Modification times of directories: they change when a file is added or removed without a notification of systemd. */
const stamp = (directories: readonly string[]): string =>
  directories.map((directory) => statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? 0).join(" ");

/** What is known until files change. */
interface Known {
  readonly directories: readonly string[];
  readonly stamped: string;
  lookedAtMs: number;
  readonly byKind: Map<UnitKind, Promise<Installed>>;
}

const ofKind = (units: Installed, kind: UnitKind): Installed =>
  new Map([...units].filter(([name]) => name.endsWith(`.${kind}`)));

/** Unit files as systemd lists them. It looks at every file for that, so the lists are kept until files change. */
export function createInstalledFiles(ports: { call: Connection["call"]; monotonicMs: () => number }) {
  const { call, monotonicMs } = ports;
  let known: Promise<Known> | undefined;
  const ofInstances = new Map<string, Promise<string>>();

  const invalidate = (): void => {
    known = undefined;
    ofInstances.clear();
  };

  const look = async (): Promise<Known> => {
    const unitPath = await call(calls.getManager("UnitPath"), ([list]) =>
      Array.isArray(list) ? list.map(String) : [],
    );
    const directories = unitPath.flatMap((directory) => [directory, ...namedAfterUnits(directory)]);
    return { directories, stamped: stamp(directories), lookedAtMs: monotonicMs(), byKind: new Map() };
  };

  const current = (): Promise<Known> => {
    if (known !== undefined) return known;
    const looking = look();
    looking.catch(() => {
      if (known === looking) invalidate();
    });
    known = looking;
    return looking;
  };

  const unlessChanged = async (maxAgeMs: number): Promise<Known> => {
    const found = await current();
    const now = monotonicMs();
    if (now - found.lookedAtMs < maxAgeMs) return found;
    found.lookedAtMs = now;
    if (stamp(found.directories) === found.stamped) return found;
    invalidate();
    return current();
  };

  const read = async (kinds: readonly UnitKind[]): Promise<Installed> => {
    const patterns = kinds.map((kind) => `*.${kind}`);
    const rows = await call(calls.listFilesOfKinds(patterns), ([list]) => (Array.isArray(list) ? list : []));
    const units = new Map<string, MirroredUnit>();
    for (const { name, path, state } of installedFiles(rows))
      units.set(name, { ...blankUnit(name), description: readDescription(path), unitFileState: state });
    return units;
  };

  /** Asks once for the kinds that are not known yet. What is invalidated meanwhile is answered, and not kept. */
  const listsOf = async (kinds: readonly UnitKind[], maxAgeMs: number): Promise<readonly Installed[]> => {
    const { byKind } = await unlessChanged(maxAgeMs);
    const missing = kinds.filter((kind) => !byKind.has(kind));
    if (missing.length > 0) {
      const reading = read(missing);
      for (const kind of missing)
        byKind.set(
          kind,
          reading.then((units) => ofKind(units, kind)),
        );
      reading.catch(() => {
        for (const kind of missing) byKind.delete(kind);
      });
    }
    return Promise.all(kinds.flatMap((kind) => byKind.get(kind) ?? []));
  };

  return {
    /** Those of services. */
    async units(): Promise<Installed> {
      const [services = new Map()] = await listsOf(["service"], lookAgainMs);
      return services;
    },
    /** Those of these kinds. Directories are inspected each time: it takes little beside what the caller asks besides. */
    async unitsOf(kinds: readonly UnitKind[]): Promise<Installed> {
      return new Map((await listsOf(kinds, 0)).flatMap((units) => [...units]));
    },
    /** systemd does not list files of instances; each question makes it read all directories, so the answers are cached. */
    async statesOfInstances(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
      for (const name of ofInstances.keys()) if (!names.includes(name)) ofInstances.delete(name);
      for (const name of names) {
        if (ofInstances.has(name)) continue;
        const state = call(calls.unitFileState(name), ([found]) => text(found)).catch(() => "");
        ofInstances.set(name, state);
      }
      return new Map(await Promise.all([...ofInstances].map(async ([name, state]) => [name, await state] as const)));
    },
    invalidate,
  };
}
