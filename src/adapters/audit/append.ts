import { closeSync, fchmodSync, fdatasync, fdatasyncSync, fstatSync, unlinkSync, writeSync } from "node:fs";
import { preparePrivateDirectory, syncDirectory } from "#adapters/files/index.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { AuditEntry } from "#domain/ports/audit.ts";
import type { Clock } from "#kernel/clock.ts";
import { damagedEvent, isTorn, type Link, prunedEvent, remainsOf, seal, tornEvent } from "./chain.ts";
import { logFiles, logPath, openToAppend, type Tail, tailOf } from "./files.ts";

interface AppenderOptions {
  readonly directory: string;
  readonly clock: Pick<Clock, "now">;
  readonly limits: { readonly maxBytes: number; readonly keepFiles: number };
  readonly onTrouble: (error: unknown) => void;
  readonly onRepaired: (faults: readonly string[], entry: AuditEntry) => void;
  readonly onRotated: (head: Link) => void;
}

export interface Appender extends Tail {
  readonly options: AppenderOptions;
  path: string;
  handle: number;
  size: number;
  head: Link;
  rest: Buffer;
  lacksBreak: boolean;
  isSynced: boolean;
}

const nothing = Buffer.alloc(0);
const closed = -1;

export function openAppender(options: AppenderOptions): Appender {
  const { directory } = options;
  preparePrivateDirectory(directory);
  const files = logFiles(directory);
  const newest = files.at(-1);
  const tail = tailOf(files);
  const path = newest?.path ?? logPath(directory, tail.head.seq + 1);
  const handle = openToAppend(path, newest === undefined);
  // Where only appending is allowed, a mode that is right is left alone.
  if ((fstatSync(handle).mode & 0o077) !== 0) fchmodSync(handle, 0o600);
  if (newest === undefined) syncDirectory(directory);
  return { options, path, handle, size: fstatSync(handle).size, ...tail, isSynced: true };
}

function appendLine(log: Appender, entry: AuditEntry): void {
  const { line, faults } = seal(entry, log.head, log.options.clock.now());
  const lead = log.lacksBreak || log.rest.length > 0 ? "\n" : "";
  const bytes = Buffer.from(`${lead}${line.text}\n`);
  if (log.handle === closed) throw new Error("it is closed");
  const written = writeSync(log.handle, bytes);
  log.size += written;
  log.isSynced &&= written === 0;
  if (written >= bytes.length - 1) {
    log.head = line.link;
    log.rest = nothing;
    log.lacksBreak = written < bytes.length;
    if (faults.length > 0) log.options.onRepaired(faults, entry);
    return;
  }
  log.rest = Buffer.concat([log.rest, bytes.subarray(log.rest.length === 0 ? lead.length : 0, written)]);
  log.lacksBreak &&= written === 0;
  throw new Error("there is no space for a complete entry");
}

function append(log: Appender, entry: AuditEntry): void {
  if (log.rest.length > 0) {
    const event = isTorn(log.rest, log.head) ? tornEvent : damagedEvent;
    appendLine(log, auditEvent(event, log.options.clock.now(), { target: remainsOf(log.rest) }));
  }
  appendLine(log, entry);
}

function pruneFiles(log: Appender): void {
  const { directory, limits, clock } = log.options;
  const files = logFiles(directory);
  const kept = files.slice(-limits.keepFiles);
  const [oldest] = kept;
  if (oldest === undefined || kept.length === files.length) return;
  // Recorded before it is done: verification never misses a file that no entry explains.
  append(log, auditEvent(prunedEvent, clock.now(), { target: { first_seq: String(oldest.firstSeq) } }));
  for (const file of files.slice(0, -kept.length)) unlinkSync(file.path);
}

function rotate(log: Appender): void {
  const { directory, onRotated, onTrouble } = log.options;
  try {
    // Nothing of the old file may be missing when there is something in the new one.
    fdatasyncSync(log.handle);
    const path = logPath(directory, log.head.seq + 1);
    const handle = openToAppend(path, true);
    closeSync(log.handle);
    Object.assign(log, { path, handle, size: 0 });
    syncDirectory(directory);
    onRotated(log.head);
    pruneFiles(log);
  } catch (error) {
    onTrouble(error);
  }
}

export function writeEntry(log: Appender, entry: AuditEntry): void {
  if (log.size >= log.options.limits.maxBytes && log.rest.length === 0 && !log.lacksBreak) rotate(log);
  append(log, entry);
}

export function syncAppender(log: Appender): void {
  if (log.isSynced) return;
  log.isSynced = true;
  const synced = log.handle;
  fdatasync(synced, (error) => {
    if (error !== null && synced === log.handle) log.options.onTrouble(error);
  });
}

export function checkAppender({ handle, path, size }: Appender): string | undefined {
  const stat = fstatSync(handle);
  if (stat.nlink === 0) return `audit log ${path} was deleted while it is in use (restart the service)`;
  if (stat.size !== size) return `audit log ${path} was changed by another program while it is in use (verify it)`;
  return undefined;
}

export function closeAppender(log: Appender): void {
  const closing = log.handle;
  // What comes later is refused, and goes into no other file that has the number by then.
  log.handle = closed;
  try {
    fdatasyncSync(closing);
  } finally {
    closeSync(closing);
  }
}
