import type { Context } from "#contract/operation.ts";
import { DomainError, invalid, type ScopeLack } from "#domain/common/error.ts";
import type { ComparedWindow, JournalLists, ListedEntries } from "#domain/ports/journal.ts";
import type { LogReader, Reading } from "./reader.ts";
import { orUnread } from "./unread.ts";
import { readTimestamp, timestampText } from "./window.ts";

/** With what the entries of a window are compared. */
type Compared =
  | { readonly kind: "boot" }
  | { readonly kind: "timestamp"; readonly at: number }
  | { readonly kind: "snapshot"; readonly id: string }
  | { readonly kind: "otherBoot"; readonly boot: string }
  | { readonly kind: "window"; readonly since: number; readonly until: number };

const snapshotId = /^snapshot:(\d{8}-\d{6})$/;
const otherBoot = /^boot:(0|-\d{1,9}|[0-9a-f]{32})$/i;

/** @throws DomainError for what says nothing of the kind. */
export function readCompared(text: string): Compared {
  if (text === "boot") return { kind: "boot" };
  const [, id] = snapshotId.exec(text) ?? [];
  if (id !== undefined) return { kind: "snapshot", id };
  const [, boot] = otherBoot.exec(text) ?? [];
  if (boot !== undefined) return { kind: "otherBoot", boot: boot.toLowerCase() };
  const parts = text.split("/");
  const [since, until] = parts.map(readTimestamp);
  if (since !== undefined && parts.length === 1) return { kind: "timestamp", at: since };
  if (since !== undefined && until !== undefined && parts.length === 2 && since <= until)
    return { kind: "window", since, until };
  throw invalid(
    "compare",
    "Must be boot, an RFC 3339 time such as 2026-01-31T12:00:00Z, two of them with / between, snapshot: and the id of a snapshot, or boot: and a boot",
  );
}

/** Two windows, and the time that parts them where one does. */
interface Comparison {
  readonly since: number;
  readonly until: number;
  readonly boot: string | undefined;
  readonly before: ComparedWindow;
  readonly at: number | undefined;
}

export interface ComparePorts {
  readonly reader: LogReader;
  readonly journal: Pick<JournalLists, "boots">;
  /** When a snapshot was taken, in milliseconds since the epoch; undefined for an unknown id. */
  readonly snapshotTime: (id: string, signal: AbortSignal) => Promise<number | undefined>;
  /** Whether a caller may see when snapshots were taken. */
  readonly seesSnapshots: (caller: Context["caller"]) => boolean;
  readonly scopeLack: ScopeLack;
}

type Asked = Pick<Comparison, "since" | "until" | "boot">;

async function timestampOf(
  compared: Compared & { readonly kind: "boot" | "timestamp" | "snapshot" },
  { reader, journal, snapshotTime, seesSnapshots, scopeLack }: ComparePorts,
  { listed, reading, context }: Comparing,
): Promise<number> {
  switch (compared.kind) {
    case "timestamp":
      return compared.at;
    case "snapshot": {
      if (!seesSnapshots(context.caller)) throw scopeLack(context.caller, "updates:read");
      const at = await snapshotTime(compared.id, reading.signal);
      if (at !== undefined) return at * 1000;
      throw new DomainError(
        "NOT_FOUND",
        `cannot find the snapshot ${compared.id} (GET /updates/snapshots lists them)`,
        {
          snapshot_id: compared.id,
        },
      );
    }
    case "boot": {
      const found = await reader.ask((signal) => journal.boots(listed, signal), reading);
      const last = found.boots.at(-1);
      if (last !== undefined) return last.first;
      throw new DomainError(
        "NOT_FOUND",
        `cannot compare with the time before the last boot: the journal has no entries${orUnread(found, "they are")}`,
      );
    }
  }
}

interface Comparing {
  readonly listed: ListedEntries;
  readonly reading: Reading;
  readonly context: Context;
}

/** Finds what is compared with what. @throws DomainError for a boot or a snapshot that is not there. */
export async function compareWith(
  compared: Compared,
  asked: Asked,
  ports: ComparePorts,
  comparing: Comparing,
): Promise<Comparison> {
  const { since, until, boot } = asked;
  if (compared.kind === "window") return { ...asked, before: { ...compared, boot: undefined }, at: undefined };
  if (compared.kind === "otherBoot") {
    const { listed, reading } = comparing;
    const all = await ports.reader.ask((signal) => ports.journal.boots(listed, signal), reading);
    const found = all.boots.find(({ id, index }) => id === compared.boot || String(index) === compared.boot);
    if (found !== undefined)
      return { since, until, boot: boot ?? "0", before: { since: 0, until: Infinity, boot: found.id }, at: undefined };
    throw new DomainError(
      "NOT_FOUND",
      `cannot find the boot ${compared.boot} in the journal (GET /system/logs/boots lists those that have entries)${orUnread(all)}`,
    );
  }
  const at = await timestampOf(compared, ports, comparing);
  return { since: Math.max(since, at), until, boot, before: { since, until: Math.min(until, at - 1), boot }, at };
}

/** The time that parts two windows, as an answer has it. */
export const comparedAt = ({ at }: Pick<Comparison, "at">): { readonly compared_at?: string } =>
  at === undefined ? {} : { compared_at: timestampText(at) };
