import { createHash } from "node:crypto";
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, type Stats, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  FileUnreadable,
  isWritableByOthers,
  readRegularFile,
  syncDirectory,
  writeFileAtomic,
} from "#adapters/files/index.ts";
import type { ConfirmedPlugins } from "#domain/ports/plugins.ts";
import { isNumber, isRecord, isString } from "#kernel/values.ts";

export interface ConfirmedPlugin {
  readonly name: string;
  readonly version: string;
  readonly path: string;
  readonly digest: string;
  readonly confirmedAt: number;
}

interface ConfirmedPluginFiles extends ConfirmedPlugins {
  readonly all: () => readonly ConfirmedPlugin[];
  /** On disk when it returns. @throws Error when this process is not root, or the directory is not its own. */
  readonly add: (plugin: ConfirmedPlugin) => void;
  readonly remove: (path: string) => boolean;
}

const maxBytes = 16 * 1024;
const isConfirmed = (value: unknown): value is ConfirmedPlugin => {
  if (!isRecord(value)) return false;
  const { name, version, path, digest, confirmedAt } = value;
  return [name, version, path, digest].every(isString) && isNumber(confirmedAt);
};

const isRoots = (stat: Stats): boolean => stat.uid === 0 && !isWritableByOthers(stat);

function read(file: string): ConfirmedPlugin | undefined {
  try {
    const { content, stat } = readRegularFile(file, { maxBytes, followsLinks: false });
    const value: unknown = JSON.parse(content.toString("utf8"));
    return isRoots(stat) && isConfirmed(value) ? value : undefined;
  } catch (error) {
    if (error instanceof FileUnreadable || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The list in a directory of root's; a directory that others can change is an empty list. */
export function openConfirmedPlugins(directory: string): ConfirmedPluginFiles {
  const fileOf = (path: string): string => join(directory, `${createHash("sha256").update(path).digest("hex")}.json`);
  const isTrusted = (): boolean => {
    const stat = lstatSync(directory, { throwIfNoEntry: false });
    return stat?.isDirectory() === true && isRoots(stat);
  };

  const prepare = (): { readonly group: number } => {
    const { gid: group } = lstatSync(dirname(directory));
    if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) {
      mkdirSync(directory, { mode: 0o750 });
      chownSync(directory, 0, group);
      chmodSync(directory, 0o750);
      syncDirectory(dirname(directory));
    }
    if (!isTrusted()) throw new Error(`cannot use ${directory}: it is not a directory that only root can change`);
    return { group };
  };

  return {
    has({ path, digest }) {
      const known = isTrusted() ? read(fileOf(path)) : undefined;
      return known?.path === path && known.digest === digest;
    },
    all() {
      const names = isTrusted() ? readdirSync(directory).filter((name) => name.endsWith(".json")) : [];
      return names.flatMap((name) => read(join(directory, name)) ?? []).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    add(plugin) {
      const { group } = prepare();
      writeFileAtomic(fileOf(plugin.path), `${JSON.stringify(plugin, null, 2)}\n`, { mode: 0o640, group });
    },
    remove(path) {
      if (!isTrusted() || lstatSync(fileOf(path), { throwIfNoEntry: false }) === undefined) return false;
      unlinkSync(fileOf(path));
      syncDirectory(directory);
      return true;
    },
  };
}
