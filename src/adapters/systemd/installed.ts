import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { orElse } from "#kernel/errors.ts";
import { calls } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { blankUnit, type MirroredUnit, parseUnitFile, parseUnitFileRow, text } from "./parse.ts";

const lookAgainMs = 1_000;

export type Installed = ReadonlyMap<string, MirroredUnit>;

export const readDescription = (path: string): string =>
  orElse(() => parseUnitFile(readFileSync(path, "utf8")).description, "");

const linkFolders = (folder: string): readonly string[] =>
  orElse(() => readdirSync(folder), [])
    .filter((name) => /\.(wants|requires|upholds)$/.test(name))
    .map((name) => join(folder, name));

const targetName = (path: string): string => orElse(() => basename(realpathSync(path)), "");

export interface InstalledFile {
  readonly name: string;
  readonly path: string;
  readonly state: string;
}

/** The unit files of a listing, less those that are other names of one among them. */
export function installedFiles(rows: readonly unknown[]): readonly InstalledFile[] {
  const files = rows.flatMap((row) => parseUnitFileRow(row) ?? []);
  const names = new Set(files.map(({ path }) => basename(path)));
  return files.flatMap((file) => {
    const name = basename(file.path);
    // A link to a file outside of the unit folders is called an alias as well, and is the only name of its unit.
    const target = file.state === "alias" ? targetName(file.path) : name;
    return target !== name && names.has(target) ? [] : { ...file, name };
  });
}

/** Modification times of folders: they change when a file is added or removed without systemd being told. */
const stamp = (folders: readonly string[]): string =>
  folders.map((folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0).join(" ");

export function createInstalledFiles(ports: { call: Connection["call"]; monotonicMs: () => number }) {
  const { call, monotonicMs } = ports;
  let known: Promise<Installed> | undefined;
  const ofInstances = new Map<string, Promise<string>>();
  let folders: readonly string[] = [];
  let stamped = "";
  let lookedAtMs = 0;

  const read = async (): Promise<Installed> => {
    const unitPath = await call(calls.getManager("UnitPath"), ([list]) =>
      Array.isArray(list) ? list.map(String) : [],
    );
    folders = unitPath.flatMap((folder) => [folder, ...linkFolders(folder)]);
    stamped = stamp(folders);
    const rows = await call(calls.listFiles(), ([list]) => (Array.isArray(list) ? list : []));
    const units = new Map<string, MirroredUnit>();
    for (const { name, path, state } of installedFiles(rows))
      units.set(name, { ...blankUnit(name), description: readDescription(path), unitFileState: state });
    return units;
  };

  const invalidate = (): void => {
    known = undefined;
    ofInstances.clear();
  };

  return {
    units(): Promise<Installed> {
      const now = monotonicMs();
      if (known !== undefined && now - lookedAtMs >= lookAgainMs) {
        lookedAtMs = now;
        if (stamp(folders) !== stamped) invalidate();
      }
      if (known === undefined) {
        const reading = read();
        reading.catch(() => {
          if (known === reading) invalidate();
        });
        known = reading;
      }
      return known;
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
