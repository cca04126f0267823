import { closeSync, fchmodSync, fdatasync, fdatasyncSync, fstatSync, unlinkSync, writeSync } from "node:fs";
import { preparePrivateDirectory, syncDirectory } from "#adapters/files/index.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { AuditEntry, AuditLog } from "#domain/audit/ports.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { openBegunCalls } from "./begun.ts";
import {
  complete,
  damagedEvent,
  isTorn,
  type Link,
  lostEvent,
  prunedEvent,
  remainsOf,
  seal,
  tornEvent,
} from "./chain.ts";
import { auditFolder, logFiles, openToAppend, pathOf } from "./files.ts";
import { createReader } from "./read.ts";
import { tailOf } from "./tail.ts";

export { auditFolder } from "./files.ts";
export { createReader } from "./read.ts";
export { type AuditVerdict, type KnownHead, verifyAudit } from "./verify.ts";

export interface FileAuditLog extends AuditLog {
  /** The newest entry: number 0 when there is none. */
  readonly head: () => Link;
  readonly folder: string;
  /** @returns the reason when the log cannot be written, or was changed by somebody else. */
  readonly check: () => string | undefined;
  readonly dispose: Dispose;
}

export interface AuditOptions {
  readonly stateDir: string;
  readonly clock: Pick<Clock, "now" | "every">;
  /** How big a file may become, and how many there may be. */
  readonly limits?: { readonly maxBytes: number; readonly keepFiles: number };
  /** An entry waits for room, or an old file is still there. */
  readonly onTrouble: (error: unknown, entry?: AuditEntry) => void;
  /** An entry lacked what every entry has, and was completed before it was written. */
  readonly onRepaired: (faults: readonly string[], entry: AuditEntry) => void;
  /** A new file was begun. */
  readonly onRotated: (head: Link) => void;
}

export const defaultAuditLimits = { maxBytes: 16 * 1024 * 1024, keepFiles: 10 };
/** Entries that are kept in memory while they cannot be written. */
const maxWaiting = 1000;
/** What was written is on the disk so much later. */
const syncEveryMs = 1000;
const nothing = Buffer.alloc(0);
const closed = -1;

/**
 * An append-only log in files that are never renamed, cut or written anywhere but at their end. It has one writer: whoever has
 * the key store open.
 * @throws Error when it cannot be opened for appending.
 */
export function openAuditLog(options: AuditOptions): FileAuditLog {
  const { stateDir, clock, limits = defaultAuditLimits, onTrouble, onRepaired, onRotated } = options;
  const folder = auditFolder(stateDir);
  const open = () => {
    try {
      preparePrivateDirectory(folder);
      const files = logFiles(folder);
      const newest = files.at(-1);
      const { head, rest, lacksBreak } = tailOf(files);
      const path = newest?.path ?? pathOf(folder, head.seq + 1);
      const handle = openToAppend(path, newest === undefined);
      // Where only appending is allowed, a mode that is right is left alone.
      if ((fstatSync(handle).mode & 0o077) !== 0) fchmodSync(handle, 0o600);
      if (newest === undefined) syncDirectory(folder);
      return { path, handle, size: fstatSync(handle).size, head, rest, lacksBreak, calls: openBegunCalls(stateDir) };
    } catch (error) {
      throw new Error(`cannot open the audit log ${folder}: ${errorMessage(error)}`, { cause: error });
    }
  };
  const opened = open();
  const { calls } = opened;
  let { path, handle, size, head, rest, lacksBreak } = opened;
  const waiting: { readonly entry: AuditEntry; readonly onWritten: Dispose | undefined }[] = [];
  let lost = 0;
  let fault: string | undefined;
  let isSynced = true;

  /** Writes one line; what is cut off of it stays in `rest` until an entry tells of it. */
  const appendLine = (entry: AuditEntry): void => {
    const {
      line: { text, link },
      faults,
    } = seal(entry, head, clock.now());
    const lead = lacksBreak || rest.length > 0 ? "\n" : "";
    const bytes = Buffer.from(`${lead}${text}\n`);
    if (handle === closed) throw new Error("it is closed");
    const written = writeSync(handle, bytes);
    size += written;
    isSynced &&= written === 0;
    // Whole but for the end of its line: an entry all the same.
    if (written >= bytes.length - 1) {
      head = link;
      rest = nothing;
      lacksBreak = written < bytes.length;
      if (faults.length > 0) onRepaired(faults, entry);
      return;
    }
    rest = Buffer.concat([rest, bytes.subarray(rest.length === 0 ? lead.length : 0, written)]);
    lacksBreak &&= written === 0;
    throw new Error("there is no room for a whole entry");
  };

  const append = (entry: AuditEntry): void => {
    if (rest.length > 0) {
      const event = isTorn(rest, head) ? tornEvent : damagedEvent;
      appendLine(auditEvent(event, clock.now(), { target: remainsOf(rest) }));
    }
    appendLine(entry);
  };

  const prune = (): void => {
    const files = logFiles(folder);
    const kept = files.slice(-limits.keepFiles);
    const [oldest] = kept;
    if (oldest === undefined || kept.length === files.length) return;
    // Told before it is done, so that whoever verifies never misses what nobody told of.
    append(auditEvent(prunedEvent, clock.now(), { target: { first_seq: String(oldest.firstSeq) } }));
    for (const file of files.slice(0, -kept.length)) unlinkSync(file.path);
  };

  const rotate = (): void => {
    try {
      // Nothing of the old file may be missing when there is something in the new one.
      fdatasyncSync(handle);
      const next = pathOf(folder, head.seq + 1);
      const nextHandle = openToAppend(next, true);
      closeSync(handle);
      ({ path, handle, size } = { path: next, handle: nextHandle, size: 0 });
      syncDirectory(folder);
      onRotated(head);
      prune();
    } catch (error) {
      // The entry that it was done for is written all the same.
      onTrouble(error);
    }
  };

  const write = (entry: AuditEntry): void => {
    if (size >= limits.maxBytes && rest.length === 0 && !lacksBreak) rotate();
    append(entry);
  };

  const flush = (): void => {
    try {
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        write(next.entry);
        waiting.shift();
        next.onWritten?.();
      }
      if (lost > 0) {
        write(auditEvent(lostEvent, clock.now(), { outcome: "failed", target: { entries: String(lost) } }));
        lost = 0;
      }
      fault = undefined;
    } catch (error) {
      fault = `audit log ${path} cannot be written: ${errorMessage(error)}`;
      throw error;
    }
  };

  const sync = (): void => {
    if (isSynced) return;
    isSynced = true;
    const synced = handle;
    fdatasync(handle, (error) => {
      // A file that was rotated away was synced then.
      if (error !== null && synced === handle) onTrouble(error);
    });
  };
  const stop = clock.every(syncEveryMs, sync);

  const record = (entry: AuditEntry, onWritten?: Dispose): void => {
    if (waiting.length < maxWaiting) waiting.push({ entry, onWritten });
    else lost += 1;
    try {
      flush();
    } catch (error) {
      onTrouble(error, entry);
    }
  };

  const begin = (entry: AuditEntry): Dispose => {
    const attempt = <T>(work: () => T): T | undefined => {
      try {
        return work();
      } catch (error) {
        onTrouble(error);
        return undefined;
      }
    };
    const forget = attempt(() => calls.begin(complete(entry, clock.now()).entry));
    return () => attempt(() => forget?.());
  };

  return {
    record,
    begin,
    left: calls.left,
    ...createReader(folder),
    head: () => head,
    folder,
    check() {
      const stat = fstatSync(handle);
      if (stat.nlink === 0) return `audit log ${path} was deleted while it is in use (restart the service)`;
      if (stat.size !== size) return `audit log ${path} was changed by something else while it is in use (verify it)`;
      try {
        // A full disk heals, so the disk is tried again.
        flush();
        return undefined;
      } catch {
        return fault;
      }
    },
    dispose() {
      stop();
      const closing = handle;
      // What comes too late is told to be, and goes into no other file that has the number by then.
      handle = closed;
      try {
        fdatasyncSync(closing);
      } finally {
        closeSync(closing);
      }
    },
  };
}
