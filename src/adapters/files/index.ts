import { randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { addPath, errnoCode, errorMessage, orElse, orUndefined } from "#kernel/errors.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_DIRECTORY } = constants;

const defaultMaxBytes = 1024 * 1024;
const pieceBytes = 64 * 1024;

export interface RegularFile {
  readonly content: Buffer;
  readonly stat: Stats;
}

export interface ReadOptions {
  readonly maxBytes?: number;
  readonly followsLinks?: boolean;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ELOOP: "it is a symbolic link that is not followed, or a loop of them",
  ENXIO: "it is not a regular file (a socket or a device)",
};

/** Why a file cannot be read: one clause that does not name the file, and the `code` of the system where it gave one. */
export class FileUnreadable extends Error {
  override readonly name = "FileUnreadable";
  readonly code: string | undefined;

  constructor(reason: string, code?: string, options?: ErrorOptions) {
    super(reason, options);
    this.code = code;
  }
}

function toUnreadable(error: unknown): FileUnreadable {
  if (error instanceof FileUnreadable) return error;
  const code = errnoCode(error);
  const message = errorMessage(error);
  return new FileUnreadable(reasons[code ?? ""] ?? message, code, { cause: error });
}

function describeKind(stat: Stats): string {
  if (stat.isDirectory()) return "a directory";
  if (stat.isFIFO()) return "a named pipe";
  return "a device";
}

function readUpTo(handle: number, maxBytes: number): Buffer {
  const pieces: Buffer[] = [];
  let total = 0;
  // The size that the system reports is not a bound: files of procfs report none, others grow.
  while (total <= maxBytes) {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, maxBytes + 1 - total));
    const length = readSync(handle, piece);
    if (length === 0) return Buffer.concat(pieces, total);
    pieces.push(piece.subarray(0, length));
    total += length;
  }
  throw new FileUnreadable(`it is larger than ${maxBytes / 1024} KiB`);
}

/** The bytes of a range, or as many as there are. */
export function readRange(handle: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  let read = 0;
  while (read < bytes.length) {
    const got = readSync(handle, bytes, read, bytes.length - read, from + read);
    if (got === 0) break;
    read += got;
  }
  return bytes.subarray(0, read);
}

/** Never blocks and reads at most `maxBytes`: pipes, devices and directories are refused. @throws FileUnreadable */
export function readRegularFile(path: string, options: ReadOptions = {}): RegularFile {
  const { maxBytes = defaultMaxBytes, followsLinks = true } = options;
  let handle: number | undefined;
  try {
    handle = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (followsLinks ? 0 : O_NOFOLLOW));
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new FileUnreadable(`it is ${describeKind(stat)}, not a regular file`);
    return { content: readUpTo(handle, maxBytes), stat };
  } catch (error) {
    throw toUnreadable(error);
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** @throws Error `cannot read <path>: <why>`, caused by a FileUnreadable. */
export function readTextFile(path: string, options: ReadOptions = {}): string {
  try {
    return readRegularFile(path, options).content.toString("utf8");
  } catch (error) {
    throw new Error(`cannot read ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

type Mode = { readonly mode: number | bigint };

export const isWritableByOthers = ({ mode }: Mode): boolean => (Number(mode) & 0o022) !== 0;

/** Whether every user may go through all directories above a path. */
export function isReachableByEverybody(path: string): boolean {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if ((statSync(directory).mode & 0o001) === 0) return false;
    if (directory === "/") return true;
  }
}

/** Whether entries of the directory can be renamed and removed by their owners only, as in /tmp. */
export const isSticky = ({ mode }: Mode): boolean => (Number(mode) & 0o1000) !== 0;

export const isOpenToEverybody = ({ mode }: Mode): boolean => (Number(mode) & 0o007) !== 0;

export const isExecutable = (path: string): boolean =>
  orElse(() => {
    accessSync(path, constants.X_OK);
    return true;
  }, false);

const maxSecretBytes = 64 * 1024;

/** Reads a one-line secret. @param options.isGuarded whether systemd controls access. @throws FileUnreadable */
export function readSecretFile(path: string, options: { readonly isGuarded?: boolean } = {}): string {
  const file = readRegularFile(path, { maxBytes: maxSecretBytes });
  if (options.isGuarded !== true && isOpenToEverybody(file.stat)) {
    throw new FileUnreadable("everybody can read or write it (chmod o-rwx it)");
  }
  const text = file.content.toString("utf8").trim();
  if (text === "") throw new FileUnreadable("it is empty");
  if (/\p{Cc}/u.test(text)) throw new FileUnreadable("it holds more than one line");
  return text;
}

export const readTextOrEmpty = async (path: string): Promise<string> =>
  (await orUndefined(readFile(path, "utf8"))) ?? "";

const ownerOnly = 0o600;

/** Never through a symbolic link; new files are private. @throws with the path, see {@link addPath}. */
export function withFile<T>(path: string, flags: number, work: (handle: number) => T): T {
  const handle = openSync(path, flags | O_NOFOLLOW, ownerOnly);
  try {
    return work(handle);
  } catch (error) {
    throw addPath(error, path);
  } finally {
    closeSync(handle);
  }
}

/** Makes the names in a directory durable: without it a crash may lose what was created or renamed there. */
export const syncDirectory = (path: string): void => withFile(path, O_RDONLY | O_DIRECTORY, fsyncSync);

export interface WriteOptions {
  readonly mode?: number;
  readonly group?: number;
}

type Content = string | Uint8Array;

export function writeFileSynced(path: string, content: Content, { mode = ownerOnly, group }: WriteOptions = {}): void {
  withFile(path, O_WRONLY | O_CREAT | O_TRUNC, (handle) => {
    if (group !== undefined) fchownSync(handle, -1, group);
    if (mode !== ownerOnly) fchmodSync(handle, mode);
    writeFileSync(handle, content);
    fsyncSync(handle);
  });
}

/** Writes a file atomically: readers, and anyone who comes after a crash, find the old content or the new one. Durable on return. */
export function writeFileAtomic(path: string, content: Content, options: WriteOptions = {}): void {
  const draft = `${path}.${randomBytes(6).toString("hex")}.new`;
  try {
    writeFileSynced(draft, content, options);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/** Makes it private, also where it exists. @throws Error when it is something else or another user's. */
export function preparePrivateDirectory(path: string): void {
  mkdirSync(path, { mode: 0o700, recursive: true });
  const stat = lstatSync(path);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.())
    throw new Error(`cannot use ${path}: it is not a directory of this user (move it away)`);
  if ((stat.mode & 0o077) !== 0) chmodSync(path, 0o700);
}
