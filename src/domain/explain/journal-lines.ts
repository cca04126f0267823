import { logWindowMs } from "#contract/limits.ts";
import { type LogEntry, priorityNames, type UnreadFiles } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { Caller } from "#contract/operation.ts";
import { unreadNames } from "#domain/common/page.ts";
import { redactLines } from "#domain/common/redact.ts";
import { errorMessage } from "#kernel/errors.ts";
import { utf8Length } from "#kernel/text.ts";

import { afterChangeMs, beforeChangeMs } from "./reads.ts";
import type { ExplainSources, LogSearch } from "./sources.ts";
import type { Subjects } from "./subjects.ts";
import { beginningOf, cutTo, inert } from "./text.ts";

const mostLines = 100;
const mostBytes = 24 * 1024;
const mostLineBytes = 500;
/** Entries may be of any length: an answer that is longer is asked for again with fewer of them. */
const mostAnswerBytes = 4 * 1024 * 1024;
const warning = 4;
/** So many of the lines from around the change that there is space for what came later. */
const mostOfChange = 50;

export interface JournalLine {
  readonly text: string;
  readonly cursor: string;
}

/** Lines of one kind without secrets, and what is not among them. */
export interface Part<Line = string> {
  readonly lines: readonly Line[];
  readonly redactions: number;
  readonly omitted: readonly string[];
}

export const nothing = (...omitted: readonly string[]): Part<never> => ({ lines: [], redactions: 0, omitted });

type Sources = Pick<ExplainSources, "logs" | "logUnitsOf" | "isWithin">;
type Place = Pick<LogSearch, "units" | "identifier">;

/** Where to look: only where the caller may. */
function placesOf(subjects: Subjects, granted: "all" | readonly string[], isWithin: Sources["isWithin"]) {
  const { units, identifiers } = subjects;
  const isSeen = (unit: string): boolean => granted === "all" || granted.some((pattern) => isWithin(unit, pattern));
  const seen = units.filter(isSeen);
  const places: Place[] = seen.length > 0 ? [{ units: seen, identifier: undefined }] : [];
  const within = granted === "all" ? undefined : granted;
  for (const identifier of identifiers) places.push({ units: within, identifier });
  return { places, anywhere: { units: within, identifier: undefined }, hidden: units.filter((unit) => !isSeen(unit)) };
}

function windowsOf(
  sinceMs: number,
  nowMs: number,
): readonly Pick<LogSearch, "since" | "until" | "priority" | "limit">[] {
  const until = nowMs * 1000 + 999;
  const lastHour = { since: Math.max(0, nowMs - logWindowMs) * 1000, until };
  const change = {
    since: Math.max(0, sinceMs - beforeChangeMs) * 1000,
    until: Math.min(until, (sinceMs + afterChangeMs) * 1000),
  };
  return [
    { ...change, priority: warning, limit: mostOfChange },
    { ...lastHour, priority: warning, limit: mostLines },
    { ...change, priority: undefined, limit: mostOfChange },
    { ...lastHour, priority: undefined, limit: mostLines },
  ];
}

interface Found {
  readonly entries: readonly LogEntry[];
  readonly isAll: boolean;
  readonly unread: UnreadFiles;
}

async function find(logs: (search: LogSearch) => ReturnType<Sources["logs"]>, search: LogSearch): Promise<Found> {
  for (let limit = search.limit; limit >= 1; limit = Math.floor(limit / 4)) {
    const { bytes } = await logs({ ...search, limit });
    if (bytes.length > mostAnswerBytes) continue;
    const answer = JSON.parse(new TextDecoder().decode(bytes)) as LogList;
    return { entries: answer.logs, isAll: answer.total <= answer.logs.length, unread: answer.unread ?? [] };
  }
  return { entries: [], isAll: false, unread: [] };
}

/** Number of an entry in its file: entries of the same microsecond are in the order of it. */
const sequenceOf = ({ cursor }: LogEntry): number => Number.parseInt(/;i=([0-9a-f]+)/i.exec(cursor)?.[1] ?? "0", 16);

const inOrder = (a: LogEntry, b: LogEntry): number =>
  a.timestamp === b.timestamp ? sequenceOf(a) - sequenceOf(b) : a.timestamp < b.timestamp ? -1 : 1;

/** Messages without secrets. What a source wrote is inspected together: a key may stand in many entries. */
function redactedMessages(entries: readonly LogEntry[]) {
  const bySource = Map.groupBy(entries, ({ unit, identifier }) => `${unit}\n${identifier}`);
  const messages = new Map<LogEntry, string>();
  let count = 0;
  for (const each of bySource.values()) {
    const parts = each.map((entry) => beginningOf(entry.message));
    const redacted = redactLines(parts.flat());
    count += redacted.count;
    let at = 0;
    for (const [index, entry] of each.entries()) {
      const next = at + (parts[index]?.length ?? 0);
      messages.set(entry, redacted.lines.slice(at, next).join("\n"));
      at = next;
    }
  }
  return { messages, count };
}

function formatEntry({ timestamp, unit, identifier, pid, priority }: LogEntry, message: string) {
  const process = pid === null ? identifier : `${identifier}[${pid}]`;
  // Programs choose their names.
  const origin = redactLines([`${unit === "" ? "-" : unit} ${process} ${priorityNames[priority] ?? priority}`]);
  const text = cutTo(inert(`${timestamp} ${origin.lines.join("")}: ${message}`), mostLineBytes - numberBytes);
  return { text, redactions: origin.count };
}

const numberBytes = 6;

function withinRoom(ranked: readonly LogEntry[], textOf: (entry: LogEntry) => string): readonly LogEntry[] {
  let used = 0;
  return ranked.filter((entry) => {
    used += utf8Length(textOf(entry)) + numberBytes;
    return used <= mostBytes;
  });
}

/**
 * The journal entries of the check's subjects that the caller may see, around its last change and of the last hour, warnings and
 * worse first. Where they have none, it is the warnings of all that the caller may see.
 */
export async function journalLines(
  sources: Sources,
  { subjects, sinceMs, nowMs, caller }: { subjects: Subjects; sinceMs: number; nowMs: number; caller: Caller },
  signal: AbortSignal,
): Promise<Part<JournalLine>> {
  const granted = sources.logUnitsOf(caller);
  if (granted !== "all" && granted.length === 0) return nothing("journal entries: this key lacks the scope logs:read");
  const { places, anywhere, hidden } = placesOf(subjects, granted, sources.isWithin);
  const omitted =
    hidden.length === 0 ? [] : [`journal entries of ${hidden.join(", ")}: outside the scope logs:read of this key`];

  const ranked = new Map<string, LogEntry>();
  const unread = new Map<string, UnreadFiles[number]>();
  let isAll = true;
  const search = async (windows: ReturnType<typeof windowsOf>, where: readonly Place[]): Promise<void> => {
    for (const window of windows) {
      for (const place of where) {
        const found = await find((wanted) => sources.logs(wanted, caller, signal), { ...window, ...place });
        isAll &&= found.isAll;
        for (const each of found.unread) unread.set(each.file, each);
        // Newest first, so that the oldest are cut off.
        for (const entry of [...found.entries].reverse())
          if (!ranked.has(entry.cursor)) ranked.set(entry.cursor, entry);
      }
    }
  };
  try {
    const windows = windowsOf(sinceMs, nowMs);
    await search(windows, places);
    const warnings = windows.filter(({ priority }) => priority === warning);
    if (ranked.size === 0 && hidden.length === 0) await search(warnings, [anywhere]);
  } catch (error) {
    signal.throwIfAborted();
    const reason = errorMessage(error);
    return nothing(...omitted, `journal entries: they cannot be read (${reason})`);
  }

  const chosen = [...ranked.values()].slice(0, mostLines);
  const { messages, count } = redactedMessages([...chosen].sort(inOrder));
  const texts = new Map(chosen.map((entry) => [entry, formatEntry(entry, messages.get(entry) ?? "")]));
  const sent = withinRoom(chosen, (entry) => texts.get(entry)?.text ?? "");
  if (!isAll || sent.length < ranked.size)
    omitted.push(`journal entries beyond ${sent.length} that are sent (size limit)`);
  if (unread.size > 0)
    omitted.push(`journal entries in files that cannot be read: ${unreadNames([...unread.values()])}`);
  const lines = [...sent].sort(inOrder).map((entry) => ({ text: texts.get(entry)?.text ?? "", cursor: entry.cursor }));
  const redactions = [...texts.values()].reduce((sum, line) => sum + line.redactions, count);
  return { lines, redactions, omitted };
}
