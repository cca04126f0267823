import { open } from "node:fs/promises";
import type { AuditRecord } from "#contract/audit.ts";
import {
  damagedEvent,
  isTorn,
  type Link,
  maxLineBytes,
  origin,
  parseRecord,
  prunedEvent,
  readSealed,
  remainsOf,
  type SealedRecord,
  tornEvent,
} from "./chain.ts";
import { type LogFile, logFiles, readFlags } from "./files.ts";

/** An entry that was written down elsewhere, and that the log must have. */
export interface KnownHead extends Link {
  /** Where it was written down, in words. */
  readonly source: string;
}

/** Where the chain does not hold. */
export interface BrokenLink {
  readonly file: string;
  readonly line: number;
  /** Number of the first entry that cannot be relied upon. */
  readonly seq: number;
  readonly what: string;
}

export interface AuditVerdict {
  readonly broken: BrokenLink | undefined;
  readonly files: number;
  readonly entries: number;
  /** How many of the entries have their place in the chain, but not the form of an entry. */
  readonly malformed: number;
  readonly first: Link | undefined;
  readonly last: Link | undefined;
  /** How many of the heads that were given stand in the log. */
  readonly headsFound: number;
  /** What is no break, and still worth to know. */
  readonly notes: readonly string[];
}

/** Ends the walk. */
class ChainBroken extends Error {
  readonly link: BrokenLink;

  constructor(link: BrokenLink) {
    super(link.what);
    this.link = link;
  }
}

const newline = 0x0a;
const chunkBytes = 1024 * 1024;
/** How many malformed entries are named one by one. */
const namedMalformed = 20;

/** The lines of a file, some at a time. Of what is too long the beginning is given, and nothing after it. */
async function* linesOf(path: string): AsyncGenerator<readonly Buffer[]> {
  await using handle = await open(path, readFlags);
  let carry = Buffer.alloc(0);
  while (carry.length <= maxLineBytes) {
    // A buffer for each read: lines that are no entries are kept until an entry tells of them.
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes);
    if (bytesRead === 0) break;
    const bytes =
      carry.length === 0 ? buffer.subarray(0, bytesRead) : Buffer.concat([carry, buffer.subarray(0, bytesRead)]);
    const lines: Buffer[] = [];
    let from = 0;
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, from)) {
      lines.push(bytes.subarray(from, at));
      from = at + 1;
    }
    carry = Buffer.from(bytes.subarray(from));
    yield lines;
  }
  if (carry.length > 0) yield [carry];
}

const numbers = (from: number, to: number): string =>
  from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;

/** Why an entry whose own hash is right cannot stand where it stands; undefined when it can. */
function misplaced(record: Pick<SealedRecord, "seq" | "prev">, last: Link): string | undefined {
  const expected = last.seq + 1;
  if (record.seq > expected)
    return `${numbers(expected, record.seq - 1)} missing: it is followed by entry ${record.seq}`;
  if (record.seq < expected)
    return `entry ${record.seq} stands where entry ${expected} belongs: put in, repeated or out of order`;
  if (record.prev !== last.hash)
    return `entry ${record.seq} does not follow the entry before it: one of the two was put in its place`;
  return undefined;
}

const joined = (lines: readonly Buffer[]): Buffer =>
  Buffer.concat(lines.flatMap((each, at) => (at === 0 ? [each] : [Buffer.from("\n"), each])));

/** Follows the chain through all files. */
function createWalk(files: readonly LogFile[], heads: readonly KnownHead[], onEntry: (record: AuditRecord) => void) {
  const notes: string[] = [];
  const bySeq = Map.groupBy(heads, ({ seq }) => seq);
  let first: Link | undefined;
  let last: Link | undefined;
  let entries = 0;
  let malformed = 0;
  let headsFound = 0;
  /** Number of the first entry that was to be kept when old files were removed last. */
  let kept = 1;
  /** Lines that are no entries, until an entry tells of them. */
  let strange: { readonly line: number; readonly lines: Buffer[] } | undefined;
  /** Malformed entries that no other entry has followed yet. */
  let pending: { readonly after: Link; readonly line: number; readonly lines: Buffer[] } | undefined;
  let place = { file: "", line: 0 };
  /** What the next entry follows; of the oldest file that is there the name alone says it. */
  const before = (prev = ""): Link =>
    last ?? ((files[0]?.firstSeq ?? 1) === 1 ? origin : { seq: (files[0]?.firstSeq ?? 1) - 1, hash: prev });

  const breakAt = (line: number, seq: number, what: string): never => {
    throw new ChainBroken({ file: place.file, line, seq, what });
  };
  const isTold = ({ record }: SealedRecord, region: Buffer, events: readonly string[]): boolean => {
    const { bytes, sha256 } = remainsOf(region);
    if (record === undefined || !events.includes(record.operation)) return false;
    return record.target["bytes"] === bytes && record.target["sha256"] === sha256;
  };
  /**
   * Versions that did not know malformed entries took those at the end of the log for remains of a crash, and went on from the
   * entry before them.
   */
  const isTakenForRemains = (sealed: SealedRecord): boolean => {
    if (pending === undefined || misplaced(sealed, pending.after) !== undefined) return false;
    return isTold(sealed, joined(pending.lines), [tornEvent, damagedEvent]);
  };
  const noteMalformed = (sealed: SealedRecord): void => {
    malformed += 1;
    if (malformed > namedMalformed) return;
    const members = sealed.faults.join(", ");
    notes.push(
      `${place.file}:${place.line}: entry ${sealed.seq} is malformed, and stands as it was written: missing or invalid: ${members}`,
    );
  };
  const settleStrange = (record: SealedRecord | undefined): void => {
    if (strange === undefined) return;
    const { line, lines } = strange;
    strange = undefined;
    const after = before(record?.prev);
    const seq = after.seq + 1;
    const region = joined(lines);
    const isFollowed = record !== undefined && misplaced(record, after) === undefined;
    if (isFollowed && isTold(record, region, [tornEvent]) && isTorn(region, after)) {
      notes.push(
        `${place.file}:${line}: an entry was cut off by a crash or a full disk (${region.length} bytes); it says so itself`,
      );
      return;
    }
    if (isFollowed && record.record?.operation === damagedEvent)
      breakAt(line, seq, "what stands here is no entry; the service found it like that when it started");
    const told = lines.some((each) => parseRecord(each.toString("utf8")) !== undefined);
    breakAt(line, seq, told ? `entry ${seq} was changed: its hash does not fit` : "what stands here is no entry");
  };

  return {
    begin({ path, firstSeq }: LogFile): void {
      place = { file: path, line: 0 };
      pending = undefined;
      if (last !== undefined && firstSeq > last.seq + 1)
        breakAt(
          1,
          last.seq + 1,
          `${numbers(last.seq + 1, firstSeq - 1)} missing before this file: a file is gone, or the one before it was cut off`,
        );
      if (last !== undefined && firstSeq !== last.seq + 1)
        breakAt(1, last.seq + 1, `the file is named for entry ${firstSeq}, and entry ${last.seq + 1} comes next`);
    },
    line(bytes: Buffer): void {
      place = { ...place, line: place.line + 1 };
      const sealed = readSealed(bytes);
      if (sealed === undefined) {
        strange ??= { line: place.line, lines: [] };
        strange.lines.push(bytes);
        return;
      }
      settleStrange(sealed);
      const { seq, hash, record } = sealed;
      if (pending !== undefined && isTakenForRemains(sealed)) {
        notes.push(
          `${place.file}:${pending.line}: malformed entries were taken for remains of a crash when the service started`,
        );
        entries -= pending.lines.length;
        last = pending.after.seq === 0 ? undefined : pending.after;
      }
      const after = before(sealed.prev);
      const fault = misplaced(sealed, after);
      if (fault !== undefined) breakAt(place.line, after.seq + 1, fault);
      for (const head of bySeq.get(seq) ?? []) {
        if (head.hash !== hash)
          breakAt(place.line, seq, `entry ${seq} is not the one that ${head.source} knows: the log was written anew`);
        headsFound += 1;
      }
      if (record?.operation === prunedEvent) kept = Math.max(kept, Number(record.target["first_seq"] ?? 1));
      if (record === undefined) {
        noteMalformed(sealed);
        pending ??= { after, line: place.line, lines: [] };
        pending.lines.push(bytes);
      } else {
        pending = undefined;
        onEntry(record);
      }
      first ??= { seq, hash };
      last = { seq, hash };
      entries += 1;
    },
    /** The end of a file; the newest may end with what was cut off and nobody could tell of yet. */
    end(isNewest: boolean): void {
      if (strange !== undefined && isNewest && isTorn(joined(strange.lines), before())) {
        notes.push(
          `${place.file}:${strange.line}: the last entry is not whole: it is being written, or was cut off by a crash`,
        );
        strange = undefined;
      }
      settleStrange(undefined);
    },
    finish() {
      if (malformed > namedMalformed) notes.push(`${malformed - namedMalformed} more entries are malformed`);
      const [oldest] = files;
      place = { file: oldest?.path ?? "", line: 1 };
      if (first !== undefined && first.seq > kept)
        breakAt(
          1,
          kept,
          `${numbers(kept, first.seq - 1)} missing: an old file is gone, and no entry says that it was removed`,
        );
      const lastSeq = before().seq;
      const [beyond] = heads.filter(({ seq }) => seq > lastSeq).sort((a, b) => a.seq - b.seq);
      if (beyond !== undefined) {
        place = { file: files.at(-1)?.path ?? "", line: 0 };
        breakAt(0, lastSeq + 1, `entries after ${lastSeq} are missing: ${beyond.source} knows entry ${beyond.seq}`);
      }
    },
    so: () => ({ files: files.length, entries, malformed, first, last, headsFound, notes }),
  };
}

/**
 * Verifies that nothing in the log was changed, removed, put in or swapped, as far as the chain and the given heads can tell.
 * @param onEntry is given each entry in its order, up to the first break.
 * @throws Error when the log cannot be read.
 */
export async function verifyAudit(
  folder: string,
  heads: readonly KnownHead[],
  onEntry: (record: AuditRecord) => void = () => undefined,
): Promise<AuditVerdict> {
  const files = logFiles(folder);
  const walk = createWalk(files, heads, onEntry);
  try {
    for (const file of files) {
      walk.begin(file);
      for await (const lines of linesOf(file.path)) for (const line of lines) walk.line(line);
      walk.end(file === files.at(-1));
    }
    walk.finish();
    return { broken: undefined, ...walk.so() };
  } catch (error) {
    if (!(error instanceof ChainBroken)) throw error;
    return { broken: error.link, ...walk.so() };
  }
}
