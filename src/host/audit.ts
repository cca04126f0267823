import {
  type AuditVerdict,
  auditFolder,
  createReader,
  defaultAuditLimits,
  type FileAuditLog,
  type KnownHead,
  openAuditLog,
  verifyAudit,
} from "#adapters/audit/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import type { Config } from "#config/load.ts";
import { toBytes } from "#config/receiver.ts";
import type { AuditList, AuditListQuery } from "#contract/audit.ts";
import type { LogList } from "#contract/logs.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { listEntries } from "#domain/audit/handlers.ts";
import type { Clock, Dispose } from "#domain/kernel/clock.ts";
import type { Logger } from "#telemetry/logger.ts";
import { reasonOf } from "./error-reason.ts";
import { onceAMinute } from "./repeated-trouble.ts";

const headMessage = "audit head";
/** How often the newest entry is written down in the journal when there are new ones. */
const headIntervalMs = 10 * 60_000;

export interface HostAudit extends FileAuditLog {
  /** Writes down that the service starts. */
  readonly started: (version: string) => void;
}

/** The audit log of this host; the numbers and hashes of its newest entries go to the service's log now and then. */
export function openHostAudit(
  { stateDir, settings }: Pick<Config, "stateDir" | "settings">,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): HostAudit {
  const { max_size: maxSize, keep_files: keepFiles = defaultAuditLimits.keepFiles } = settings.audit ?? {};
  const complain = onceAMinute((reason) => log.error({ reason }, "audit log cannot be written"), clock.monotonicMs);
  let toldSeq = 0;
  const tellHead = (): void => {
    const { seq, hash } = audit.head();
    if (seq === toldSeq) return;
    toldSeq = seq;
    log.info({ seq, hash, folder: audit.folder }, headMessage);
  };
  const audit = openAuditLog({
    stateDir,
    clock,
    limits: { maxBytes: maxSize === undefined ? defaultAuditLimits.maxBytes : toBytes(maxSize), keepFiles },
    onTrouble(error, entry) {
      complain(reasonOf(error));
      // The log of the service has it until the file does.
      if (entry !== undefined) log.error({ entry }, "audit entry waits to be written");
    },
    onRotated: tellHead,
  });
  const stop: Dispose = clock.every(headIntervalMs, tellHead);
  return {
    ...audit,
    started(version) {
      audit.record(auditEvent("service.started", clock.now(), { target: { version, pid: String(process.pid) } }));
      tellHead();
    },
    dispose() {
      stop();
      audit.record(auditEvent("service.stopped", clock.now(), { target: { pid: String(process.pid) } }));
      tellHead();
      audit.dispose();
    },
  };
}

/** As many heads as are asked of the journal: one in ten minutes, for a month or two. */
const maxHeads = 10_000;
const queryMs = 60_000;

/** A head as the service has logged it; undefined for any other line. */
function headIn(message: string, folder: string): Pick<KnownHead, "seq" | "hash"> | undefined {
  try {
    const { seq, hash, folder: of, msg }: Readonly<Record<string, unknown>> = JSON.parse(message);
    const isHead = msg === headMessage && of === folder && Number.isSafeInteger(seq) && typeof hash === "string";
    return isHead ? { seq: Number(seq), hash } : undefined;
  } catch {
    return undefined;
  }
}

/** The heads that a unit has logged to the journal. Which unit it was, journald says, and not the line. */
async function headsInJournal(dir: string | undefined, folder: string, unit: string): Promise<readonly KnownHead[]> {
  const journal = createHostJournal({ dir, onUnreadable: () => undefined });
  // Its threads do not keep a process that has nothing else to do.
  const alive = setInterval(() => undefined, queryMs);
  try {
    const query = {
      units: [unit],
      since: 0,
      until: Number.MAX_SAFE_INTEGER,
      priority: undefined,
      identifier: undefined,
      boot: undefined,
      grep: `"msg":"${headMessage}"`,
      cursor: undefined,
      order: "asc",
      limit: maxHeads,
    } as const;
    const { bytes } = await journal.journal.query(query, AbortSignal.timeout(queryMs));
    const { logs }: LogList = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return logs.flatMap(({ message, timestamp }) => {
      const head = headIn(message, folder);
      return head === undefined ? [] : [{ ...head, source: `the journal (${timestamp})` }];
    });
  } finally {
    clearInterval(alive);
    journal.dispose();
  }
}

/** What came of verifying, ready to print. */
export interface AuditReport extends AuditVerdict {
  readonly folder: string;
}

/**
 * Verifies the audit log of this host, without the service.
 * @throws Error when it cannot be read.
 */
export async function verifyHostAudit(
  { stateDir, settings }: Pick<Config, "stateDir" | "settings">,
  options: { readonly heads: readonly KnownHead[]; readonly unit: string | undefined },
): Promise<AuditReport> {
  const folder = auditFolder(stateDir);
  const notes: string[] = [];
  let found: readonly KnownHead[] = [];
  if (options.unit !== undefined) {
    try {
      found = await headsInJournal(settings.journal?.dir, folder, options.unit);
      if (found.length === 0)
        notes.push(
          `the journal has no heads of this log (unit ${options.unit}): a tail that was cut off would not show`,
        );
    } catch (error) {
      notes.push(`the journal cannot be asked for heads: ${reasonOf(error)}`);
    }
  }
  const verdict = await verifyAudit(folder, [...options.heads, ...found]);
  return { ...verdict, folder, notes: [...verdict.notes, ...notes] };
}

/**
 * Lists entries of the audit log of this host, without the service.
 * @throws DomainError when it cannot be read.
 */
export const listHostAudit = ({ stateDir }: Pick<Config, "stateDir">, query: AuditListQuery): Promise<AuditList> =>
  listEntries(createReader(auditFolder(stateDir)), query, new AbortController().signal);
