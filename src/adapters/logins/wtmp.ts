import type { PastLogin } from "#domain/ports/accounts.ts";
import { latestMs } from "#kernel/clock.ts";

/** utmp(5), little-endian. */
export interface WtmpLayout {
  readonly recordBytes: number;
  readonly isWide: boolean;
}
const narrow: WtmpLayout = { recordBytes: 384, isWide: false };
/** 32-bit times where 32-bit programs of the architecture write the same file, else 64-bit times. */
const layouts: Readonly<Record<string, WtmpLayout>> = {
  x64: narrow,
  ia32: narrow,
  arm: narrow,
  riscv64: narrow,
  arm64: { recordBytes: 400, isWide: true },
};
/** @returns undefined for an architecture whose records are not known, such as s390x with the bytes the other way round. */
export const wtmpLayout = (architecture: string): WtmpLayout | undefined => layouts[architecture];

const [bootTime, userProcess, deadProcess] = [2, 7, 8];
const [typeAt, lineAt, userAt, hostAt, hostEnd] = [0, 8, 44, 76, 332];
/** Of the time, after the host, the exit status and the session. */
const timeAt = { narrow: 340, wide: 344 };

interface WtmpRecord {
  readonly type: number;
  readonly line: string;
  readonly user: string;
  readonly host: string;
  readonly at: number;
}

function textIn(record: Buffer, from: number, to: number): string {
  const field = record.subarray(from, to);
  const end = field.indexOf(0);
  const text = field.subarray(0, end < 0 ? field.length : end).toString("utf8");
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");
}

function readRecord(record: Buffer, isWide: boolean): WtmpRecord {
  const seconds = isWide ? Number(record.readBigInt64LE(timeAt.wide)) : record.readUInt32LE(timeAt.narrow);
  const micros = isWide ? Number(record.readBigInt64LE(timeAt.wide + 8)) : record.readInt32LE(timeAt.narrow + 4);
  return {
    type: record.readInt16LE(typeAt),
    line: textIn(record, lineAt, lineAt + 32),
    user: textIn(record, userAt, hostAt),
    host: textIn(record, hostAt, hostEnd),
    at: seconds * 1000 + Math.floor(micros / 1000),
  };
}

const isDate = (at: number): boolean => at > 0 && at <= latestMs;

/**
 * Reads the end of a wtmp file, as last(1) does.
 * @param bytes whole records, oldest first.
 * @returns logins, newest first.
 */
export function parseWtmp(bytes: Buffer, { recordBytes, isWide }: WtmpLayout, limit: number): readonly PastLogin[] {
  const logins: PastLogin[] = [];
  /** What ends the sessions that began before, by terminal, and for all of them. */
  const ends = new Map<string, { readonly at: number | null; readonly end: PastLogin["end"] }>();
  let below: { readonly at: number | null; readonly end: PastLogin["end"] } = { at: null, end: "none" };
  const first = bytes.length % recordBytes;
  for (let at = bytes.length - recordBytes; at >= first && logins.length < limit; at -= recordBytes) {
    const { type, line, user, host, at: time } = readRecord(bytes.subarray(at, at + recordBytes), isWide);
    if (!isDate(time)) continue;
    if (user === "shutdown" && type !== userProcess) {
      below = { at: time, end: "shutdown" };
      ends.clear();
    } else if (type === bootTime) {
      below = { at: time, end: "crash" };
      ends.clear();
    } else if (type === deadProcess) ends.set(line, { at: time, end: "logout" });
    else if (type === userProcess && user !== "") {
      const { at: endedAt, end } = ends.get(line) ?? below;
      logins.push({ user, tty: line, remoteHost: host, startedAt: time, endedAt, end });
      ends.set(line, { at: null, end: "unknown" });
    }
  }
  return logins;
}
