import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { calls } from "./calls.ts";
import type { Connection } from "./connection.ts";
import type { MirroredUnit } from "./parse.ts";
import { blankUnit, parseUnitFileRow } from "./parse.ts";
import { parseUnitFile } from "./unit-file.ts";

/** How long the state of the unit folders is taken for granted. */
const lookAgainMs = 1_000;

/** An installed unit file, as a unit that is not loaded. */
export interface InstalledUnit {
  readonly unit: MirroredUnit;
  /** The unit that the file is another name of. */
  readonly aliasOf: string | undefined;
}

export type Installed = ReadonlyMap<string, InstalledUnit>;

/** Installed unit files as systemd lists them, read again only when something can have changed. */
export interface InstalledFiles {
  readonly units: () => Promise<Installed>;
  readonly invalidate: () => void;
}

/** A unit file that is not loaded, as far as the file itself tells. Files that vanish meanwhile tell nothing. */
function describe(path: string): { description: string; target: string } {
  try {
    return {
      description: parseUnitFile(readFileSync(path, "utf8")).description,
      target: basename(realpathSync(path)),
    };
  } catch {
    return { description: "", target: "" };
  }
}

/** Folders of links below a unit folder: what is in them is what "enabled" means. */
function linkFolders(folder: string): readonly string[] {
  try {
    const names = readdirSync(folder).filter((name) => /\.(wants|requires|upholds)$/.test(name));
    return names.map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** Modification times of folders: they change when a file is added or removed without systemd being told. */
const stamp = (folders: readonly string[]): string =>
  folders.map((folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0).join(" ");

export function createInstalledFiles(ports: { call: Connection["call"]; monotonicMs: () => number }): InstalledFiles {
  const { call, monotonicMs } = ports;
  let known: Promise<Installed> | undefined;
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
    const units = new Map<string, InstalledUnit>();
    for (const row of rows) {
      const file = parseUnitFileRow(row);
      if (file === undefined) continue;
      const name = basename(file.path);
      const { description, target } = describe(file.path);
      const unit = { ...blankUnit(name), description, unitFileState: file.state };
      units.set(name, { unit, aliasOf: file.state === "alias" && target !== name ? target : undefined });
    }
    return units;
  };

  const invalidate = (): void => {
    known = undefined;
  };

  return {
    units() {
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
    invalidate,
  };
}
