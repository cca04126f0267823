import { open } from "node:fs/promises";
import type { AuditRecord } from "#contract/audit.ts";
import type { AuditBreak } from "#domain/ports/audit.ts";
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

export interface KnownHead extends Link {
  readonly source: string;
}

export interface AuditVerdict {
  readonly broken: AuditBreak | undefined;
  readonly files: number;
  readonly entries: number;
  readonly malformed: number;
  readonly first: Link | undefined;
  readonly last: Link | undefined;
  readonly headsFound: number;
  readonly notes: readonly string[];
}

class ChainBroken extends Error {
  readonly link: AuditBreak;

  constructor(link: AuditBreak) {
    super(link.what);
    this.link = link;
  }
}

const newline = 0x0a;
const chunkBytes = 1024 * 1024;
const namedMalformed = 20;

async function* linesOf(path: string): AsyncGenerator<readonly Buffer[]> {
  await using handle = await open(path, readFlags);
  let carry = Buffer.alloc(0);
  while (carry.length <= maxLineBytes) {
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

function misplaced(record: Pick<SealedRecord, "seq" | "prev">, last: Link): string | undefined {
  const expected = last.seq + 1;
  if (record.seq > expected)
    return `${numbers(expected, record.seq - 1)} missing: it is followed by entry ${record.seq}`;
  if (record.seq < expected)
    return `entry ${record.seq} is in the place of entry ${expected}: inserted, repeated or out of order`;
  if (record.prev !== last.hash)
    return `entry ${record.seq} does not follow the entry before it: one of the two was inserted`;
  return undefined;
}

const joinLines = (lines: readonly Buffer[]): Buffer =>
  Buffer.concat(lines.flatMap((each, at) => (at === 0 ? [each] : [Buffer.from("\n"), each])));

interface Lines {
  readonly line: number;
  readonly lines: Buffer[];
}

interface Walk {
  readonly files: readonly LogFile[];
  readonly headsBySeq: ReadonlyMap<number, readonly KnownHead[]>;
  readonly onEntry: (record: AuditRecord) => void;
  readonly notes: string[];
  place: { readonly file: string; readonly line: number };
  first: Link | undefined;
  last: Link | undefined;
  entries: number;
  malformed: number;
  headsFound: number;
  kept: number;
  strange: Lines | undefined;
  pending: (Lines & { readonly after: Link }) | undefined;
}

function breakAt({ place }: Pick<Walk, "place">, line: number, seq: number, what: string): never {
  throw new ChainBroken({ file: place.file, line, seq, what });
}

function before({ files, last }: Walk, prev = ""): Link {
  const firstSeq = files[0]?.firstSeq ?? 1;
  return last ?? (firstSeq === 1 ? origin : { seq: firstSeq - 1, hash: prev });
}

function explains({ record }: SealedRecord, region: Buffer, events: readonly string[]): boolean {
  const { bytes, sha256 } = remainsOf(region);
  if (record === undefined || !events.includes(record.operation)) return false;
  return record.target["bytes"] === bytes && record.target["sha256"] === sha256;
}

function noteMalformed(walk: Walk, { seq, faults }: SealedRecord): void {
  walk.malformed += 1;
  if (walk.malformed > namedMalformed) return;
  const { file, line } = walk.place;
  walk.notes.push(
    `${file}:${line}: entry ${seq} is malformed, and was left as it was written: missing or invalid: ${faults.join(", ")}`,
  );
}

const notAnEntry = "this is not an entry";

function settleStrange(walk: Walk, next: SealedRecord | undefined): void {
  if (walk.strange === undefined) return;
  const { line, lines } = walk.strange;
  walk.strange = undefined;
  const after = before(walk, next?.prev);
  const seq = after.seq + 1;
  const region = joinLines(lines);
  const isFollowed = next !== undefined && misplaced(next, after) === undefined;
  if (isFollowed && explains(next, region, [tornEvent]) && isTorn(region, after)) {
    walk.notes.push(
      `${walk.place.file}:${line}: an entry was cut off by a crash or a full disk (${region.length} bytes); it says so itself`,
    );
    return;
  }
  if (isFollowed && next.record?.operation === damagedEvent)
    breakAt(walk, line, seq, `${notAnEntry}; the service found it like that when it started`);
  const isEntry = lines.some((each) => parseRecord(each.toString("utf8")) !== undefined);
  breakAt(walk, line, seq, isEntry ? `entry ${seq} was changed: its hash does not fit` : notAnEntry);
}

/** Earlier versions took malformed entries at the end for remains of a crash, and overwrote them. */
function settlePending(walk: Walk, next: SealedRecord): void {
  const { pending, place, notes } = walk;
  if (pending === undefined || misplaced(next, pending.after) !== undefined) return;
  if (!explains(next, joinLines(pending.lines), [tornEvent, damagedEvent])) return;
  notes.push(
    `${place.file}:${pending.line}: malformed entries were taken for remains of a crash when the service started`,
  );
  walk.entries -= pending.lines.length;
  walk.last = pending.after.seq === 0 ? undefined : pending.after;
}

function beginFile(walk: Walk, { path, firstSeq }: LogFile): void {
  walk.place = { file: path, line: 0 };
  walk.pending = undefined;
  if (walk.last === undefined) return;
  const expected = walk.last.seq + 1;
  const missing = `${numbers(expected, firstSeq - 1)} missing before this file`;
  if (firstSeq > expected) breakAt(walk, 1, expected, `${missing}: a file is gone, or the one before it was cut off`);
  if (firstSeq !== expected)
    breakAt(walk, 1, expected, `the file is named for entry ${firstSeq}, and entry ${expected} comes next`);
}

function takeLine(walk: Walk, bytes: Buffer): void {
  const line = walk.place.line + 1;
  walk.place = { ...walk.place, line };
  const sealed = readSealed(bytes);
  if (sealed === undefined) {
    walk.strange ??= { line, lines: [] };
    walk.strange.lines.push(bytes);
    return;
  }
  settleStrange(walk, sealed);
  settlePending(walk, sealed);
  const { seq, hash, record } = sealed;
  const after = before(walk, sealed.prev);
  const fault = misplaced(sealed, after);
  if (fault !== undefined) breakAt(walk, line, after.seq + 1, fault);
  for (const head of walk.headsBySeq.get(seq) ?? []) {
    if (head.hash !== hash)
      breakAt(walk, line, seq, `entry ${seq} is not the one that ${head.source} knows: the log was rewritten`);
    walk.headsFound += 1;
  }
  if (record?.operation === prunedEvent) walk.kept = Math.max(walk.kept, Number(record.target["first_seq"] ?? 1));
  if (record === undefined) {
    noteMalformed(walk, sealed);
    walk.pending ??= { after, line, lines: [] };
    walk.pending.lines.push(bytes);
  } else {
    walk.pending = undefined;
    walk.onEntry(record);
  }
  walk.first ??= { seq, hash };
  walk.last = { seq, hash };
  walk.entries += 1;
}

function endFile(walk: Walk, isNewest: boolean): void {
  if (walk.strange !== undefined && isNewest && isTorn(joinLines(walk.strange.lines), before(walk))) {
    walk.notes.push(
      `${walk.place.file}:${walk.strange.line}: the last entry is incomplete: it is being written, or was cut off by a crash`,
    );
    walk.strange = undefined;
  }
  settleStrange(walk, undefined);
}

function finish(walk: Walk): void {
  const { files, headsBySeq, notes, malformed, first, kept } = walk;
  if (malformed > namedMalformed) notes.push(`${malformed - namedMalformed} more entries are malformed`);
  if (first !== undefined && first.seq > kept) {
    const what = `${numbers(kept, first.seq - 1)} missing: an old file is gone, and no entry says that it was removed`;
    breakAt({ place: { file: files[0]?.path ?? "", line: 1 } }, 1, kept, what);
  }
  const { seq } = before(walk);
  const [beyond] = [...headsBySeq.values()]
    .flat()
    .filter((head) => head.seq > seq)
    .sort((a, b) => a.seq - b.seq);
  if (beyond === undefined) return;
  const what = `entries after ${seq} are missing: ${beyond.source} knows entry ${beyond.seq}`;
  breakAt({ place: { file: files.at(-1)?.path ?? "", line: 0 } }, 0, seq + 1, what);
}

/**
 * @param onEntry is given each entry in order, up to the first break.
 * @param pause is awaited after each mebibyte.
 * @throws Error when the log cannot be read.
 */
export async function verifyAudit(
  directory: string,
  heads: readonly KnownHead[],
  onEntry: (record: AuditRecord) => void = () => undefined,
  pause?: () => Promise<void>,
): Promise<AuditVerdict> {
  const walk: Walk = {
    files: logFiles(directory),
    headsBySeq: Map.groupBy(heads, ({ seq }) => seq),
    onEntry,
    notes: [],
    place: { file: "", line: 0 },
    first: undefined,
    last: undefined,
    entries: 0,
    malformed: 0,
    headsFound: 0,
    kept: 1,
    strange: undefined,
    pending: undefined,
  };
  const verdict = (broken: AuditBreak | undefined): AuditVerdict => {
    const { files, entries, malformed, first, last, headsFound, notes } = walk;
    return { broken, files: files.length, entries, malformed, first, last, headsFound, notes };
  };
  try {
    for (const file of walk.files) {
      beginFile(walk, file);
      for await (const lines of linesOf(file.path)) {
        for (const line of lines) takeLine(walk, line);
        await pause?.();
      }
      endFile(walk, file === walk.files.at(-1));
    }
    finish(walk);
    return verdict(undefined);
  } catch (error) {
    if (!(error instanceof ChainBroken)) throw error;
    return verdict(error.link);
  }
}
