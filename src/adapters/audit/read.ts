import { type FileHandle, open } from "node:fs/promises";
import type { AuditRecord } from "#contract/audit.ts";
import {
  type AuditLog,
  type AuditPage,
  type AuditQuery,
  AuditQueryRefused,
  AuditUnavailable,
} from "#domain/ports/audit.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { maxLineBytes, parseRecord } from "./chain.ts";
import { type LogFile, logFiles, readFlags } from "./files.ts";

interface Line {
  readonly offset: number;
  /** Bytes as characters (ISO 8859-1): offsets are those of the file, and text that is not inspected is not decoded. */
  readonly text: string;
}

const chunkBytes = 256 * 1024;
/** How much older than its neighbours an entry may be because the clock was set. */
const clockSlackMs = 60 * 60_000;

async function* linesBackward(handle: FileHandle, end: number): AsyncGenerator<readonly Line[]> {
  const buffer = Buffer.alloc(chunkBytes);
  let carry = "";
  let isTooLong = false;
  for (let to = end; to > 0; ) {
    const from = Math.max(0, to - chunkBytes);
    const { bytesRead } = await handle.read(buffer, 0, to - from, from);
    if (bytesRead < to - from) throw new AuditUnavailable("a file became shorter while it was read");
    const text = buffer.toString("latin1", 0, bytesRead) + (isTooLong ? "" : carry);
    const lines: Line[] = [];
    let lineEnd = text.length;
    for (let at = text.lastIndexOf("\n"); at >= 0; at = at === 0 ? -1 : text.lastIndexOf("\n", at - 1)) {
      if (at + 1 < lineEnd || isTooLong)
        lines.push({ offset: from + at + 1, text: isTooLong ? "" : text.slice(at + 1, lineEnd) });
      isTooLong = false;
      lineEnd = at;
    }
    carry = text.slice(0, lineEnd);
    if (carry.length > maxLineBytes) isTooLong = true;
    if (from === 0 && (carry !== "" || isTooLong)) lines.push({ offset: 0, text: isTooLong ? "" : carry });
    yield lines;
    to = from;
  }
}

/** The members that an entry has to have, with their values. */
const wantedOf = ({ operation, keyId, outcome }: AuditQuery) =>
  (
    [
      ["operation", operation],
      ["key_id", keyId],
      ["outcome", outcome],
    ] as const
  ).filter(([, value]) => value !== undefined);

const serviceSuffix = ".service";
const isAbout = (target: string) => (value: string) => value === target || value + serviceSuffix === target;

/** What the line of an entry about this has to contain, in the characters of {@link Line}. */
const needleOf = (target: string): string =>
  Buffer.from(JSON.stringify(target.replace(/\.service$/, "")).slice(0, -1)).toString("latin1");

const beginningOfEntry = '{"seq":';
const timeMember = '","time":"';
const leastTimeOffset = 70;
const timeLength = 24;

type Search = ReturnType<typeof createSearch>;

function bound(epochMs: number | undefined): string | undefined {
  const text = epochMs === undefined || Number.isNaN(new Date(epochMs).getTime()) ? "" : toTimestamp(epochMs);
  return text.length === timeLength ? text : undefined;
}

function createSearch(query: AuditQuery) {
  const { since, until } = query;
  const { target } = query;
  const wanted = wantedOf(query);
  const needles = wanted.map(([name, value]) => `"${name}":"${value}"`);
  const entries: AuditRecord[] = [];
  return {
    wanted,
    needles: target === undefined ? needles : [...needles, needleOf(target)],
    isAbout: target === undefined ? undefined : isAbout(target),
    since: bound(since),
    until: bound(until),
    end: bound(since === undefined ? undefined : since - clockSlackMs),
    entries,
    unreadable: 0,
  };
}

function takeLine(search: Search, { text }: Line): boolean {
  const { wanted, needles, isAbout: isWanted, since, until, end, entries } = search;
  if (!text.startsWith(beginningOfEntry)) {
    search.unreadable += 1;
    return false;
  }
  if (since !== undefined || until !== undefined) {
    const at = text.indexOf(timeMember, leastTimeOffset) + timeMember.length;
    const time = text.slice(at, at + timeLength);
    if (since !== undefined && time < since) return end !== undefined && time < end;
    if (until !== undefined && time >= until) return false;
  }
  if (!needles.every((needle) => text.includes(needle))) return false;
  const record = parseRecord(Buffer.from(text, "latin1").toString("utf8"));
  if (record === undefined) search.unreadable += 1;
  else if (
    wanted.every(([name, value]) => record[name] === value) &&
    (isWanted === undefined || Object.values(record.target).some(isWanted))
  )
    entries.push(record);
  return false;
}

const newline = 0x0a;

async function startOffset(handle: FileHandle, offset: number | undefined): Promise<number> {
  const { size } = await handle.stat();
  const byte = Buffer.alloc(1);
  if (offset === undefined || offset === 0) return offset ?? size;
  if (offset <= size) await handle.read(byte, 0, 1, offset - 1);
  if (byte[0] !== newline) throw new AuditQueryRefused("cursor", "Leads nowhere");
  return offset;
}

function startOf(files: readonly LogFile[], cursor: string | undefined) {
  if (cursor === undefined) return { files: files.toReversed(), offset: undefined };
  const [firstSeq, offset] = cursor.split("-").map(Number);
  const older = files.filter((file) => file.firstSeq <= Number(firstSeq)).toReversed();
  // A file that is gone by now took all that is older with it.
  return { files: older, offset: older[0]?.firstSeq === firstSeq ? offset : undefined };
}

export function createReader(directory: string): Pick<AuditLog, "list"> {
  const read = async (query: AuditQuery, signal: AbortSignal): Promise<AuditPage> => {
    const search = createSearch(query);
    const page = (nextCursor?: string): AuditPage => {
      const { entries, unreadable } = search;
      return { entries, unreadable, nextCursor };
    };
    const start = startOf(logFiles(directory), query.cursor);
    let { offset } = start;
    for (const { path, firstSeq } of start.files) {
      await using handle = await open(path, readFlags);
      const end = await startOffset(handle, offset);
      offset = undefined;
      for await (const lines of linesBackward(handle, end)) {
        signal.throwIfAborted();
        for (const line of lines) {
          if (takeLine(search, line)) return page();
          if (search.entries.length === query.limit) return page(`${firstSeq}-${line.offset}`);
        }
      }
    }
    return page();
  };

  return {
    async list(query, signal) {
      try {
        return await read(query, signal);
      } catch (error) {
        if (error instanceof AuditQueryRefused || error instanceof AuditUnavailable || signal.aborted) throw error;
        throw new AuditUnavailable(errorMessage(error), { cause: error });
      }
    },
  };
}
