import { auditEvent } from "#domain/audit/entry.ts";
import type { AuditEntry, AuditLog } from "#domain/ports/audit.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errorMessage, orReport } from "#kernel/errors.ts";
import { checkAppender, closeAppender, openAppender, syncAppender, writeEntry } from "./append.ts";
import { complete, type Link, lostEvent } from "./chain.ts";
import { auditDirectory } from "./files.ts";
import { createReader } from "./read.ts";
import { openStartedCalls } from "./started-calls.ts";
import { verifyAudit } from "./verify.ts";

export { auditDirectory } from "./files.ts";
export { createReader } from "./read.ts";
export { type AuditVerdict, type KnownHead, verifyAudit } from "./verify.ts";

export interface FileAuditLog extends AuditLog {
  readonly head: () => Link;
  readonly directory: string;
  readonly check: () => string | undefined;
  readonly dispose: Dispose;
}

export interface AuditOptions {
  readonly stateDir: string;
  readonly clock: Pick<Clock, "now" | "every" | "sleep">;
  readonly limits?: { readonly maxBytes: number; readonly keepFiles: number };
  readonly onTrouble: (error: unknown, entry?: AuditEntry) => void;
  readonly onRepaired: (faults: readonly string[], entry: AuditEntry) => void;
  readonly onRotated: (head: Link) => void;
}

export const defaultAuditLimits = { maxBytes: 16 * 1024 * 1024, keepFiles: 10 };
const maxWaiting = 1000;
const syncEveryMs = 1000;
/** A mebibyte takes some 13 ms, in which nobody is answered. */
const verifyPauseMs = 200;

/** An append-only log in files that are never renamed or cut; one writer, anyone who has the key store open. */
export function openAuditLog(options: AuditOptions): FileAuditLog {
  const { stateDir, clock, limits = defaultAuditLimits, onTrouble, onRepaired, onRotated } = options;
  const directory = auditDirectory(stateDir);
  const open = () => {
    try {
      const appender = openAppender({ directory, clock, limits, onTrouble, onRepaired, onRotated });
      return { log: appender, calls: openStartedCalls(stateDir) };
    } catch (error) {
      throw new Error(`cannot open the audit log ${directory}: ${errorMessage(error)}`, { cause: error });
    }
  };
  const { log, calls } = open();
  const waiting: { readonly entry: AuditEntry; readonly onWritten: Dispose | undefined }[] = [];
  let lost = 0;
  let fault: string | undefined;

  let stopSync: Dispose | undefined;
  const syncSoon = (): void => {
    stopSync ??= clock.every(syncEveryMs, () => {
      stopSync?.();
      stopSync = undefined;
      syncAppender(log);
    });
  };
  const flush = (): void => {
    try {
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        writeEntry(log, next.entry);
        waiting.shift();
        next.onWritten?.();
      }
      if (lost > 0) {
        writeEntry(log, auditEvent(lostEvent, clock.now(), { outcome: "failed", target: { entries: String(lost) } }));
        lost = 0;
      }
      fault = undefined;
    } catch (error) {
      fault = `audit log ${log.path} cannot be written: ${errorMessage(error)}`;
      throw error;
    } finally {
      if (!log.isSynced) syncSoon();
    }
  };
  const attempt = <T>(work: () => T): T | undefined => orReport(work, onTrouble);

  return {
    record(entry, onWritten) {
      if (waiting.length < maxWaiting) waiting.push({ entry, onWritten });
      else lost += 1;
      try {
        flush();
      } catch (error) {
        onTrouble(error, entry);
      }
    },
    begin(entry) {
      const forget = attempt(() => calls.begin(complete(entry, clock.now()).entry));
      return () => attempt(() => forget?.());
    },
    left: calls.left,
    ...createReader(directory),
    head: () => log.head,
    directory,
    async verify(signal) {
      const { seq, hash } = log.head;
      const heads = seq === 0 ? [] : [{ seq, hash, source: "the running service" }];
      const pause = async (): Promise<void> => {
        await clock.sleep(verifyPauseMs, signal);
        signal.throwIfAborted();
      };
      return (await verifyAudit(directory, heads, undefined, pause)).broken;
    },
    check() {
      const changed = checkAppender(log);
      if (changed !== undefined) return changed;
      try {
        flush();
        return undefined;
      } catch {
        return fault;
      }
    },
    dispose() {
      stopSync?.();
      closeAppender(log);
    },
  };
}
