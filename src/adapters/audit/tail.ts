import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type Link, origin, readSealed } from "./chain.ts";
import { type LogFile, readFlags } from "./files.ts";

export interface Tail {
  readonly head: Link;
  readonly rest: Buffer;
  readonly lacksBreak: boolean;
}

const newline = 0x0a;
const chunkBytes = 256 * 1024;

function readRange(handle: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  let read = 0;
  while (read < bytes.length) {
    const got = readSync(handle, bytes, read, bytes.length - read, from + read);
    if (got === 0) break;
    read += got;
  }
  return bytes.subarray(0, read);
}

function lastEntry(bytes: Buffer, isPart: boolean): Tail | undefined {
  const start = isPart ? bytes.indexOf(newline) + 1 : 0;
  if (isPart && start === 0) return undefined;
  for (let end = bytes.length; end > start; ) {
    const from = Math.max(start, bytes.lastIndexOf(newline, end - 1) + 1);
    const sealed = readSealed(bytes.subarray(from, end));
    if (sealed !== undefined) {
      const lacksBreak = end === bytes.length;
      return {
        head: { seq: sealed.seq, hash: sealed.hash },
        rest: bytes.subarray(Math.min(bytes.length, end + 1)),
        lacksBreak,
      };
    }
    end = from - 1;
  }
  return undefined;
}

function endOf({ path }: LogFile): Tail | Buffer {
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
    const end = endOf(file);
    if (!Buffer.isBuffer(end)) return rest === undefined ? end : { head: end.head, rest, lacksBreak: false };
    rest ??= end;
  }
  return { head: origin, rest: rest ?? Buffer.alloc(0), lacksBreak: false };
}
