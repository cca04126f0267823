import { createHash, type Hash } from "node:crypto";
import {
  type BigIntStats,
  constants,
  fstatSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
} from "node:fs";
import { join, relative } from "node:path";
import { readRange, withFile } from "#adapters/files/index.ts";
import { Distrusted, isInside, type Owner, requireTrusted } from "./trust.ts";

const { O_RDONLY, O_NONBLOCK } = constants;

const maxFiles = 2000;
const maxBytes = 64 * 1024 ** 2;
const maxDepth = 32;
const pieceBytes = 256 * 1024;

export interface Entry {
  readonly path: string;
  readonly stat: BigIntStats;
}

const describeSpecialFile = (stat: BigIntStats): string => {
  if (stat.isFIFO()) return "a named pipe";
  if (stat.isSocket()) return "a socket";
  return "a device";
};

function requireInside(path: string, directory: string): void {
  let target: string;
  try {
    target = realpathSync(path);
  } catch (error) {
    throw new Distrusted(`${path} is a link that leads to nothing (remove it)`, { cause: error });
  }
  if (!isInside(target, realpathSync(directory))) {
    throw new Distrusted(
      `${path} is a link that leads out of the directory of the plugin, to ${target} (put a copy there)`,
    );
  }
}

const throwFault = (fault: Distrusted): void => {
  throw fault;
};

/** In a stable order. @param onFault is called with each fault; throws the first by default. @throws Distrusted */
export function listContent(directory: string, owner: Owner, onFault = throwFault): readonly Entry[] {
  const check = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Distrusted)) throw error;
      onFault(error);
    }
  };
  const entries: Entry[] = [];
  let bytes = 0n;
  const look = (path: string, depth: number): void => {
    const stat = lstatSync(path, { bigint: true });
    check(() => requireTrusted(path, stat, owner));
    entries.push({ path, stat });
    if (entries.length > maxFiles) throw new Distrusted(`${directory} holds more than ${maxFiles} files`);
    if (stat.isSymbolicLink()) check(() => requireInside(path, directory));
    if (stat.isFile()) bytes += stat.size;
    if (bytes > maxBytes) throw new Distrusted(`${directory} holds more than ${maxBytes / 1024 ** 2} MiB`);
    if (stat.isFile() || stat.isSymbolicLink()) return;
    if (!stat.isDirectory()) {
      onFault(new Distrusted(`${path} is ${describeSpecialFile(stat)} (remove it)`));
      return;
    }
    if (depth > maxDepth) throw new Distrusted(`${path} is too deep inside of ${directory}`);
    for (const name of readdirSync(path).sort()) look(join(path, name), depth + 1);
  };
  look(directory, 0);
  return entries;
}

export const signatureOf = (entries: readonly Entry[]): string =>
  createHash("sha256")
    .update(
      JSON.stringify(
        entries.map(({ path, stat: { dev, ino, mode, uid, size, mtimeNs, ctimeNs } }) =>
          [path, dev, ino, mode, uid, size, mtimeNs, ctimeNs].join(" "),
        ),
      ),
    )
    .digest("hex");

export const newestChange = (entries: readonly Entry[]): number =>
  Math.max(...entries.map(({ stat }) => Number(stat.ctimeMs)));

const withRegularFile = <T>(path: string, work: (handle: number) => T): T =>
  withFile(path, O_RDONLY | O_NONBLOCK, (handle) => {
    if (!fstatSync(handle).isFile()) throw new Distrusted(`${path} is not a file`);
    return work(handle);
  });

export const beginningOf = (path: string, length: number): Buffer =>
  withRegularFile(path, (handle) => readRange(handle, 0, length));

function addFile(hash: Hash, path: string, size: bigint): void {
  withRegularFile(path, (handle) => {
    const piece = Buffer.alloc(pieceBytes);
    let left = Number(size);
    while (left > 0) {
      const read = readSync(handle, piece, 0, Math.min(piece.length, left), null);
      if (read === 0) throw new Distrusted(`${path} changed while it was read (try again)`);
      hash.update(piece.subarray(0, read));
      left -= read;
    }
  });
}

/** SHA-256 over names, kinds, modes and contents. Each entry says how long its content is, so no two directories read the same. */
export function digestOf(directory: string, entries: readonly Entry[]): string {
  const hash = createHash("sha256");
  for (const { path, stat } of entries) {
    const mode = Number(stat.mode & 0o7777n);
    const head = (kind: string, content: number | string): void => {
      hash.update(`${JSON.stringify([kind, relative(directory, path), mode, content])}\n`);
    };
    if (stat.isDirectory()) head("folder", 0);
    else if (stat.isSymbolicLink()) head("link", readlinkSync(path));
    else {
      head("file", Number(stat.size));
      addFile(hash, path, stat.size);
    }
  }
  return hash.digest("hex");
}
