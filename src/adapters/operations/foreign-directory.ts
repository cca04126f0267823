import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { isWritableByOthers } from "#adapters/files/index.ts";
import { errnoCode } from "#kernel/errors.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

export class ForeignFileRefused extends Error {
  override readonly name = "ForeignFileRefused";
}

export interface ForeignDirectory {
  readonly names: () => readonly string[];
  /** @param isSingle whether it may have no second name, as files being linked into place do. @throws ForeignFileRefused */
  readonly text: (
    name: string,
    limits: { readonly maxBytes: number; readonly isSingle?: boolean },
  ) => string | undefined;
  readonly has: (name: string) => boolean;
  readonly close: () => void;
}

const refusing: readonly unknown[] = ["ELOOP", "ENOTDIR", "ENXIO", "EISDIR", "ENAMETOOLONG"];

function opened(path: string, flags: number, shown: string): number | undefined {
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags);
  } catch (error) {
    const code = errnoCode(error);
    if (code === "ENOENT") return undefined;
    if (refusing.includes(code)) throw new ForeignFileRefused(`cannot read ${shown}: it is not what belongs there`);
    throw error;
  }
}

function readAll(handle: number, maxBytes: number, shown: string): string {
  // Not as long as it says it is: it may grow meanwhile.
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (;;) {
    const read = readSync(handle, bytes, length, bytes.length - length, length);
    length += read;
    if (length > maxBytes) throw new ForeignFileRefused(`cannot read ${shown}: it is longer than ${maxBytes} bytes`);
    if (read === 0) return bytes.subarray(0, length).toString("utf8");
  }
}

const isName = (name: string): boolean => /^[0-9A-Za-z_.-]+$/.test(name) && name !== "." && name !== "..";

/** From a path that only root can change. @throws ForeignFileRefused for links, and for directories that others can write. */
export function openForeignDirectory(
  base: string,
  names: readonly string[],
  { uid }: { readonly uid: number },
): ForeignDirectory | undefined {
  let handle: number | undefined;
  let shown = base;
  const step = (path: string): boolean => {
    const next = opened(path, O_DIRECTORY, shown);
    if (handle !== undefined) closeSync(handle);
    handle = next;
    if (next === undefined) return false;
    const stat = fstatSync(next);
    if (stat.uid === uid && !isWritableByOthers(stat)) return true;
    closeSync(next);
    handle = undefined;
    throw new ForeignFileRefused(`cannot read ${shown}: it is not of user ${uid} alone`);
  };
  if (!step(base)) return undefined;
  for (const name of names) {
    if (!isName(name)) throw new ForeignFileRefused(`cannot read ${JSON.stringify(name)}: it is not a file name`);
    shown = `${shown}/${name}`;
    try {
      if (!step(`/proc/self/fd/${handle}/${name}`)) return undefined;
    } catch (error) {
      if (handle !== undefined) closeSync(handle);
      throw error;
    }
  }
  const directory = handle;
  if (directory === undefined) return undefined;

  return {
    names: () => readdirSync(`/proc/self/fd/${directory}`),
    has(name) {
      const file = isName(name) ? opened(`/proc/self/fd/${directory}/${name}`, 0, `${shown}/${name}`) : undefined;
      if (file !== undefined) closeSync(file);
      return file !== undefined;
    },
    text(name, { maxBytes, isSingle = true }) {
      const path = `${shown}/${name}`;
      if (!isName(name)) throw new ForeignFileRefused(`cannot read ${JSON.stringify(name)}: it is not a file name`);
      const file = opened(`/proc/self/fd/${directory}/${name}`, 0, path);
      if (file === undefined) return undefined;
      try {
        const stat = fstatSync(file);
        if (!stat.isFile()) throw new ForeignFileRefused(`cannot read ${path}: it is not a file`);
        if (stat.uid !== uid) throw new ForeignFileRefused(`cannot read ${path}: it belongs to user ${stat.uid}`);
        if (isSingle && stat.nlink !== 1) throw new ForeignFileRefused(`cannot read ${path}: it has other names`);
        return readAll(file, maxBytes, path);
      } finally {
        closeSync(file);
      }
    },
    close: () => closeSync(directory),
  };
}
