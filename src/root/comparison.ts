import { journalPages, unreadReason } from "#adapters/journald/pages.ts";
import type { AuditRecord } from "#contract/audit.ts";
import { loggedMember, rootRequested, rootUnanswered } from "#domain/audit/entry.ts";
import type { Journal } from "#domain/ports/journal.ts";
import { counted } from "#kernel/text.ts";
import { parseJsonObject } from "#kernel/values.ts";
import { type RootRecord, recordMessage } from "./record.ts";
import { isRootTask, rootTasks } from "./tasks.ts";

export interface JournalRecord extends RootRecord {
  readonly at: string;
}

export interface JournalRecords {
  readonly records: readonly JournalRecord[];
  readonly missing: string | undefined;
}

const taskUnits = "steward-task@*.service";
const maxRecords = 200_000;
const phases: readonly unknown[] = ["begun", "done", "failed", "refused", "left"] satisfies RootRecord["phase"][];
const isPhase = (value: unknown): value is RootRecord["phase"] => phases.includes(value);

function recordIn(message: string): RootRecord | undefined {
  const { msg, id, request, phase } = parseJsonObject(message) ?? {};
  if (msg !== recordMessage || typeof id !== "string" || typeof request !== "string" || !isPhase(phase))
    return undefined;
  return { id, request, phase };
}

export async function readRootRecords(journal: Pick<Journal, "query">, signal: AbortSignal): Promise<JournalRecords> {
  const records: JournalRecord[] = [];
  // Programs without rights run in these units too: what they write is not root's.
  const wanted = { unit: taskUnits, uid: 0, grep: `"msg":"${recordMessage}"\\}$` };
  try {
    for await (const page of journalPages(journal.query, wanted, signal)) {
      for (const { message, timestamp: at } of page) {
        const record = recordIn(message);
        if (record !== undefined) records.push({ ...record, at });
        if (records.length > maxRecords)
          return { records, missing: `there are more than ${maxRecords} records of root in it` };
      }
    }
    return { records, missing: undefined };
  } catch (error) {
    return { records, missing: unreadReason(error, signal) };
  }
}

interface Claim {
  readonly seq: number;
  readonly at: string;
  readonly request: string;
}

export function collectRequests() {
  const claims = new Map<string, Claim>();
  const unanswered = new Set<string>();
  const starts: number[] = [];
  let since: string | undefined;
  return {
    claims,
    unanswered,
    starts,
    /** From when on requests are logged, RFC 3339; undefined: not at all. */
    since: () => since,
    add: ({ seq, time: at, operation, target }: AuditRecord): void => {
      const { id = "", request = "" } = target;
      if (operation === "service.started") starts.push(seq);
      if (operation === rootRequested || (operation === "service.started" && target[loggedMember] !== undefined))
        since ??= at;
      if (operation === rootUnanswered) unanswered.add(id);
      // Of an operation that is started again, the first one counts.
      if (operation === rootRequested && !claims.has(id)) claims.set(id, { seq, at, request });
    },
  };
}

/** Whether the service logs a request of this kind. What is on no list it never requests. */
const isLogged = ({ request, phase }: RootRecord): boolean =>
  phase !== "left" && !(isRootTask(request) && rootTasks[request].effect !== "write");

/** Requests that root has started more than once, which none but operations are: each is to have an entry of its own in the log. */
const repeated = (records: readonly JournalRecord[]): readonly JournalRecord[] => {
  const started = new Set<string>();
  return records.toReversed().filter(({ id, request, phase }) => {
    if (phase !== "begun" || !isRootTask(request)) return false;
    const isRepeated = started.has(id);
    started.add(id);
    return isRepeated;
  });
};

function byId(records: readonly JournalRecord[]): ReadonlyMap<string, JournalRecord> {
  const oldestFirst = records.toReversed();
  const known = new Map<string, JournalRecord>();
  for (const record of oldestFirst) {
    const before = known.get(record.id);
    if (before === undefined || (before.phase === "left" && record.phase !== "left")) known.set(record.id, record);
  }
  return known;
}

/** @param heads entries that the journal knows: between two of them it has root's records. */
export function compareRequests(
  { claims, unanswered, starts, since }: Omit<ReturnType<typeof collectRequests>, "add">,
  records: readonly JournalRecord[],
  heads: readonly number[],
) {
  const known = byId(records);
  const mismatches = repeated(records).map(
    ({ request, id, at }) => `root did ${request} (${id}) again at ${at}, of which the log has one entry`,
  );
  const from = since();
  let matched = 0;
  let early = 0;
  for (const [id, record] of known) {
    const { at, request } = record;
    const claim = claims.get(id);
    if (claim !== undefined && (request === "" || request === claim.request)) matched += 1;
    else if (claim !== undefined)
      mismatches.push(`root was asked for ${request} (${id}) at ${at}, and the log has ${claim.request} in its place`);
    else if (!isLogged(record)) continue;
    else if (from === undefined || Date.parse(at) < Date.parse(from)) early += 1;
    else
      mismatches.push(
        `root ${record.phase === "refused" ? "refused" : "did"} ${request === "" ? "something" : request} (${id}) at ${at}, of which the log has no entry`,
      );
  }

  const sorted = heads.toSorted((a, b) => a - b);
  const oldest = sorted[0] ?? Number.POSITIVE_INFINITY;
  /** Whether the journal has what was recorded then: it has a head from before, and one from after with which the service continued. */
  const isCovered = ({ seq }: Claim): boolean => {
    const next = starts.find((start) => start > seq) ?? Number.POSITIVE_INFINITY;
    const after = sorted.find((head) => head >= seq);
    return oldest < seq && after !== undefined && after < next;
  };
  let unknown = 0;
  for (const [id, claim] of claims) {
    if (known.has(id) || unanswered.has(id)) continue;
    if (isCovered(claim))
      mismatches.push(
        `the log says that root was asked for ${claim.request} (${id}) at ${claim.at}, of which root has no record in the journal`,
      );
    else unknown += 1;
  }

  const notes = [
    ...(early > 0
      ? [`${counted(early, "request")} to root cannot be compared: the log has no entries about them from that time`]
      : []),
    ...(unknown > 0
      ? [
          `${counted(unknown, "request")} to root cannot be compared: the journal does not have, or not yet, what root recorded then`,
        ]
      : []),
  ];
  return { matched, mismatches, notes };
}
