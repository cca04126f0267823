import { closeSync, constants, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readRange } from "#adapters/files/index.ts";
import { type Link, origin, readSealed } from "./chain.ts";

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;

export interface LogFile {
  readonly path: string;
  readonly firstSeq: number;
}

const nameForm = /^audit-(\d{12,15})\.log$/;
const digits = 12;

export const auditDirectory = (stateDir: string): string => join(stateDir, "audit");

const fileNameFor = (firstSeq: number): string => `audit-${String(firstSeq).padStart(digits, "0")}.log`;

export const logPath = (directory: string, firstSeq: number): string => join(directory, fileNameFor(firstSeq));

export function logFiles(directory: string): readonly LogFile[] {
  return readdirSync(directory)
    .flatMap((name) => {
      const firstSeq = Number(nameForm.exec(name)?.[1]);
      return name === fileNameFor(firstSeq) ? [{ path: join(directory, name), firstSeq }] : [];
    })
    .sort((a, b) => a.firstSeq - b.firstSeq);
}

export function openToAppend(path: string, isNew: boolean): number {
  const handle = openSync(path, O_WRONLY | O_APPEND | O_NOFOLLOW | (isNew ? O_CREAT | O_EXCL : 0), 0o600);
  const stat = fstatSync(handle);
  if (stat.isFile() && stat.uid === process.getuid?.()) return handle;
  closeSync(handle);
  throw new Error(`cannot use ${path}: it is not a file of this user's own (move it away)`);
}

export const openNew = (path: string): number => openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);

export const readFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

export interface Tail {
  readonly head: Link;
  readonly rest: Buffer;
  readonly lacksBreak: boolean;
}

const newline = 0x0a;
const chunkBytes = 256 * 1024;

function lastEntry(bytes: Buffer, isPart: boolean): Tail | undefined {
  const start = isPart ? bytes.indexOf(newline) + 1 : 0;
  if (isPart && start === 0) return undefined;
  for (let end = bytes.length; end > start; ) {
    const from = Math.max(start, bytes.lastIndexOf(newline, end - 1) + 1);
    const sealed = readSealed(bytes.subarray(from, end));
    if (sealed !== undefined) {
      const { seq, hash } = sealed;
      const rest = bytes.subarray(Math.min(bytes.length, end + 1));
      return { head: { seq, hash }, rest, lacksBreak: end === bytes.length };
    }
    end = from - 1;
  }
  return undefined;
}

function endOfFile({ path }: LogFile): Tail | Buffer {
  const handle = openSync(path, readFlags);
  try {
    const { size } = fstatSync(handle);
    for (const from of [Math.max(0, size - chunkBytes), 0]) {
      const bytes = readRange(handle, from, size);
      const found = lastEntry(bytes, from > 0);
      if (found !== undefined) return found;
      if (from === 0) return bytes;
    }
    return Buffer.alloc(0);
  } finally {
    closeSync(handle);
  }
}

export function tailOf(files: readonly LogFile[]): Tail {
  let rest: Buffer | undefined;
  for (const file of files.toReversed()) {
    const end = endOfFile(file);
    if (!Buffer.isBuffer(end)) return rest === undefined ? end : { head: end.head, rest, lacksBreak: false };
    rest ??= end;
  }
  return { head: origin, rest: rest ?? Buffer.alloc(0), lacksBreak: false };
}
