import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { readFile } from "node:fs/promises";
import { errnoCode, errorMessage, orUndefined } from "#kernel/errors.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** More than settings, keys and certificates need; a bundle of all public certificate authorities has a quarter of it. */
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
  // What opening a socket says, and a device without its driver.
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

/**
 * Reads a file that settings or an administrator name. Waits for nothing and reads no more than `maxBytes`, whatever is in its
 * place: a named pipe, a device, a directory or a file without end is refused.
 * @throws FileUnreadable
 */
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

/**
 * Reads a text file as {@link readRegularFile} does.
 * @throws Error `cannot read <path>: <why>`, caused by a FileUnreadable.
 */
export function readTextFile(path: string, options: ReadOptions = {}): string {
  try {
    return readRegularFile(path, options).content.toString("utf8");
  } catch (error) {
    throw new Error(`cannot read ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

type Mode = { readonly mode: number | bigint };

/** Whether others than the owner may change it: the group, or everybody. */
export const isWritableByOthers = ({ mode }: Mode): boolean => (Number(mode) & 0o022) !== 0;

/** Whether entries of the directory can be renamed and removed by their owners only, as in /tmp. */
export const isSticky = ({ mode }: Mode): boolean => (Number(mode) & 0o1000) !== 0;

/** Whether everybody on the host can read or write it. */
export const isOpenToEverybody = ({ mode }: Mode): boolean => (Number(mode) & 0o007) !== 0;

const maxSecretBytes = 64 * 1024;

/**
 * Reads the one line of a file that holds a secret, without the space around it.
 * @param options.isGuarded whether somebody else decides who may read the file, as systemd does for its credentials.
 * @throws FileUnreadable when everybody can read the file, or it holds anything but one line; never with a part of the secret.
 */
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

/** The text of a file as it is; empty where there is none, such as what this kernel does not have. */
export const readTextOrEmpty = async (path: string): Promise<string> =>
  (await orUndefined(readFile(path, "utf8"))) ?? "";
