import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isNotFound, isPermissionDenied } from "#kernel/errors.ts";

export interface Root {
  readonly path: string;
  /** Only this machine's subdirectory; all of them when it is not given. */
  readonly machineId?: string;
}

export interface Fault {
  readonly path: string;
  readonly what: string;
}

const machineDirectory = /^[0-9a-f]{32}$/;
const journalName = /\.journal~?$/;
/** A directory that changed less than this before it was listed may change again without its time showing it. */
export const settledMs = 100;

function timeOf(path: string, which: "mtimeMs" | "ctimeMs"): number {
  try {
    return statSync(path)[which];
  } catch {
    return -1;
  }
}

export interface Directories {
  readonly list: () => readonly string[];
  /** Whether nothing came, went or became readable since the last listing. */
  readonly isCurrent: () => boolean;
  /** Notes a path that may not be read: rights that change later change its change time, but not the directory's. */
  readonly deny: (path: string) => void;
  readonly hasDenied: () => boolean;
  readonly forget: () => void;
}

export function createDirectories(roots: readonly Root[], onDamage: (fault: Fault) => void): Directories {
  let listed: ReadonlyMap<string, number> = new Map();
  const denied = new Map<string, number>();

  const deny = (path: string): void => {
    const time = timeOf(path, "ctimeMs");
    try {
      accessSync(path, constants.R_OK);
      // Readable by now: NaN equals no time, so it is listed again.
      denied.set(path, Number.NaN);
    } catch {
      denied.set(path, time);
    }
  };

  const namesIn = (path: string): readonly string[] => {
    try {
      return readdirSync(path);
    } catch (error) {
      if (isNotFound(error)) return [];
      if (!isPermissionDenied(error)) throw error;
      deny(path);
      onDamage({ path, what: "no permission to list it" });
      return [];
    }
  };

  return {
    list() {
      const now = Date.now();
      const times = new Map<string, number>();
      const listOne = (path: string) => {
        const time = timeOf(path, "mtimeMs");
        const names = namesIn(path);
        const isSettled = time < now - settledMs && time === timeOf(path, "mtimeMs");
        times.set(path, isSettled ? time : Number.NaN);
        return { names, files: names.filter((name) => journalName.test(name)).map((name) => join(path, name)) };
      };
      const files = roots.flatMap(({ path, machineId }) => {
        const own = listOne(path);
        const machines = own.names.filter(
          (name) => machineDirectory.test(name) && (machineId === undefined || name === machineId),
        );
        return [...own.files, ...machines.flatMap((name) => listOne(join(path, name)).files)];
      });
      listed = times;
      return files;
    },
    isCurrent: () =>
      listed.size > 0 &&
      [...listed].every(([path, time]) => time === timeOf(path, "mtimeMs")) &&
      [...denied].every(([path, time]) => time === timeOf(path, "ctimeMs")),
    deny,
    hasDenied: () => denied.size > 0,
    forget() {
      listed = new Map();
      denied.clear();
    },
  };
}
