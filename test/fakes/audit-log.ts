import {
  type AuditBreak,
  type AuditEntry,
  type AuditLog,
  AuditQueryRefused,
  AuditUnavailable,
  type StartedCall,
} from "#domain/ports/audit.ts";

export interface FakeAuditLog extends AuditLog {
  readonly entries: readonly AuditEntry[];
  /** The calls that are at work. */
  readonly started: ReadonlySet<AuditEntry>;
  /** Set it to have the log be one that cannot be read. */
  unreadable: string | undefined;
  /** What {@link AuditLog.verify} finds. */
  broken: AuditBreak | undefined;
}

const digest = (number: number): string => number.toString(16).padStart(64, "0");

/** Keeps the entries. `left` is what earlier processes have started. */
export function createFakeAuditLog(left: readonly StartedCall[] = []): FakeAuditLog {
  const started = new Set<AuditEntry>();
  const entries: AuditEntry[] = [];
  const log: FakeAuditLog = {
    entries,
    unreadable: undefined,
    broken: undefined,
    verify: () =>
      log.unreadable === undefined ? Promise.resolve(log.broken) : Promise.reject(new AuditUnavailable(log.unreadable)),
    started,
    begin(entry) {
      started.add(entry);
      return () => void started.delete(entry);
    },
    left,
    record(entry, onWritten) {
      entries.push(entry);
      onWritten?.();
    },
    list({ since = -Infinity, until = Infinity, operation, keyId, target, outcome, limit, cursor }) {
      if (log.unreadable !== undefined) return Promise.reject(new AuditUnavailable(log.unreadable));
      const end = cursor === undefined ? entries.length : Number(cursor.split("-")[1]);
      if (end > entries.length) return Promise.reject(new AuditQueryRefused("cursor", "Leads nowhere"));
      const wanted = entries
        .map((entry, at) => ({ ...entry, seq: at + 1, prev: digest(at), hash: digest(at + 1) }))
        .slice(0, end)
        .filter(({ time }) => Date.parse(time) >= since && Date.parse(time) < until)
        .filter((entry) => operation === undefined || entry.operation === operation)
        .filter((entry) => keyId === undefined || entry.key_id === keyId)
        .filter((entry) => target === undefined || Object.values(entry.target).includes(target))
        .filter((entry) => outcome === undefined || entry.outcome === outcome)
        .reverse();
      const page = wanted.slice(0, limit);
      const oldest = page.at(-1);
      const nextCursor = page.length < limit || oldest === undefined ? undefined : `1-${oldest.seq - 1}`;
      return Promise.resolve({ entries: page, nextCursor, unreadable: 0 });
    },
  };
  return log;
}
