import { accessSync, closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { readFile } from "node:fs/promises";
import { errnoCode, errorMessage, orElse, orUndefined } from "#kernel/errors.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

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
  // The size that the system reports is no bound: files of procfs report none, others grow.
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
