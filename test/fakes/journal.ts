import { createHash } from "node:crypto";
import type { JournalField, LogEntry } from "#contract/log-entry.ts";
import type { LogContext, LogFacet } from "#contract/log-exploration.ts";
import type { LogList } from "#contract/logs.ts";
import { SerializedJson } from "#contract/operation.ts";
import { notShown } from "#domain/common/page.ts";
import { isInNamespace } from "#domain/logs/namespace.ts";
import { byInterest, spansOf, statusOf } from "#domain/logs/templates/changes.ts";
import { groupClasses } from "#domain/logs/templates/group.ts";
import { createMasking } from "#domain/logs/templates/mask.ts";
import { compileUnitPattern } from "#domain/logs/unit-pattern.ts";
import { namesUnread, unreadOf } from "#domain/logs/unread.ts";
import type {
  ExportFormat,
  Journal,
  JournalSize,
  JournalStorage,
  Lacking,
  ListedEntries,
  LiveEntry,
  LogCounts,
  LogFilters,
  LogQuery,
  LogTemplateCounts,
  MessageClass,
  TemplateQuery,
  UnreadFile,
} from "#domain/ports/journal.ts";
import { anyEntries, JournalUnavailable, LogQueryRefused } from "#domain/ports/journal.ts";
import { defined } from "#kernel/values.ts";

/** An entry as a test writes it. */
export interface FakeEntry {
  readonly message: string;
  /** Microseconds since the epoch; one second after the entry before unless said. */
  readonly time?: number;
  readonly unit?: string;
  /** Null: none was written. */
  readonly priority?: number | null;
  readonly identifier?: string;
  readonly pid?: number | null;
  readonly uid?: number;
  readonly bootId?: string;
  /** The default one unless said. */
  readonly namespace?: string;
  /** Of the fields as they are, instead of the ones of a program's message. */
  readonly fields?: readonly JournalField[];
}

export interface FakeJournal extends Journal {
  /** Whether the journal can be read. */
  available: boolean;
  /** What queries are refused for; undefined: nothing. */
  refusal: { readonly field: string; readonly issue: string } | undefined;
  /** What queries wait for; undefined: nothing. */
  hold: (() => Promise<void>) | undefined;
  /** Queries so far. */
  readonly queries: readonly LogQuery[];
  /** Writes an entry. @returns its cursor. */
  readonly write: (entry: FakeEntry) => string;
  /** Why there is no journal; undefined: there is one. */
  absence: string | undefined;
  /** Files that cannot be read. Followers hear of those that are there when they begin. */
  unread: readonly UnreadFile[];
}

interface Stored extends LiveEntry {
  readonly time: number;
  readonly uid: number;
  readonly fields: readonly JournalField[];
}

/** The fields of an entry as journald has them. */
function usualFields(entry: LogEntry): readonly JournalField[] {
  const { unit, identifier, pid, hostname, boot_id: bootId, priority, message } = entry;
  const texts = { _HOSTNAME: hostname, _BOOT_ID: bootId, PRIORITY: priority, MESSAGE: message };
  const own = { _SYSTEMD_UNIT: unit, SYSLOG_IDENTIFIER: identifier, ...(pid !== null && { _PID: pid }) };
  return Object.entries({ ...own, ...texts }).map(([name, value]) => ({ name, text: String(value) }));
}

const id = (digit: string): string => digit.repeat(32);
const startMicros = Date.parse("2026-01-01T00:00:00Z") * 1000;

/** Microseconds since the epoch as RFC 3339 with all six decimals. */
function timestamp(micros: number): string {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(micros % 1_000_000).padStart(6, "0")}Z`;
}

const shownCharacters = 8 * 2 ** 20;

/** Messages are ASCII. */
function part(entry: LogEntry, from: number): LogEntry {
  const end = from + shownCharacters;
  const message = entry.message.slice(from, end);
  return { ...entry, message, ...(end < entry.message.length && { truncated: true, next_offset: end }) };
}

function shown({ entry, fields }: Stored, { entry: asked, fields: names }: LogQuery): LogEntry {
  const whole = part(entry, asked?.offset ?? 0);
  if (names === undefined) return whole;
  return { ...whole, fields: fields.filter(({ name }) => names === "all" || names.includes(name)) };
}

/** Boot ids in the order of their first entries; an offset counts from the last, or from the first where it is positive. */
function bootAt(entries: readonly Stored[], boot: string): string | undefined {
  if (boot.length === 32) return boot;
  const ids = [...new Set(entries.map(({ entry }) => entry.boot_id))];
  const offset = Number(boot);
  return offset > 0 ? ids[offset - 1] : ids.at(offset - 1);
}

/** A file of the default namespace that cannot be read completely. */
export const unreadFile: UnreadFile = {
  path: "/var/log/journal/0123/system.journal",
  name: "system.journal",
  namespace: "",
  reason: "it is damaged: at byte 8",
};

/** A journal in memory; `storage` are its files. */
export function createFakeJournal(
  given: readonly FakeEntry[] = [],
  storage = createFakeJournalStorage(fakeJournalSize()),
): FakeJournal {
  const entries: Stored[] = [];
  const queries: LogQuery[] = [];
  let woken = Promise.withResolvers<void>();

  const write = (fake: FakeEntry): string => {
    const {
      message,
      unit = "app.service",
      priority = 6,
      identifier = "app",
      pid = 42,
      uid = 1000,
      bootId = id("b"),
      namespace = "",
    } = fake;
    const time = fake.time ?? (entries.at(-1)?.time ?? startMicros - 1_000_000) + 1_000_000;
    const index = (entries.length + 1).toString(16);
    const cursor = `s=${id("a")};i=${index};b=${bootId};m=${index};t=${time.toString(16)};x=${index}`;
    const entry: LogEntry = {
      timestamp: timestamp(time),
      unit,
      priority: priority ?? 6,
      message,
      cursor,
      identifier,
      pid,
      hostname: "testhost",
      boot_id: bootId,
    };
    const fields = fake.fields ?? usualFields(entry);
    entries.push({ entry, units: unit === "" ? [] : [unit], namespace, priority, time, uid, fields });
    woken.resolve();
    woken = Promise.withResolvers();
    return cursor;
  };
  for (const entry of given) write(entry);

  /** Position of the entry that a cursor names; between two entries where that one is gone. */
  const positionOf = (cursor: string): number => {
    const index = entries.findIndex(({ entry }) => entry.cursor === cursor);
    if (index >= 0) return index;
    const time = Number.parseInt(/t=([0-9a-f]+)/.exec(cursor)?.[1] ?? "0", 16);
    return entries.filter((each) => each.time < time).length - 0.5;
  };

  const ofTemplate = ({ template, units, namespace: asked }: LogQuery): ReadonlySet<Stored> | undefined => {
    if (template === undefined) return undefined;
    const tests = units?.map(compileUnitPattern);
    const among = entries.filter(({ namespace }) => isInNamespace(asked, namespace));
    const { templates, templateOf } = groupClasses(among.map(classOf), digest);
    const own = among.filter((_, at) => templates[templateOf[at] ?? 0]?.id === template);
    const isSeen = (each: Stored) => tests === undefined || each.units.some((unit) => tests.some((test) => test(unit)));
    if (!own.some(isSeen)) throw new LogQueryRefused("template", "Must be the id of a template in the journal");
    return new Set(own);
  };

  const matches = (query: LogQuery, boot: string | undefined) => {
    const { units, since, until, priority, identifier, grep } = query;
    const members = ofTemplate(query);
    const tests = units?.map(compileUnitPattern);
    const expression = grep === undefined ? undefined : new RegExp(grep, /[A-Z]/.test(grep) ? "" : "i");
    return (stored: Stored): boolean => {
      const { entry, time, uid, ...live } = stored;
      return (
        isInNamespace(query.namespace, live.namespace) &&
        members?.has(stored) !== false &&
        time >= since &&
        time <= until &&
        (tests === undefined || live.units.some((name) => tests.some((test) => test(name)))) &&
        (priority === undefined || (live.priority !== null && live.priority <= priority)) &&
        (identifier === undefined || entry.identifier === identifier) &&
        (query.uid === undefined || uid === query.uid) &&
        (query.boot === undefined || entry.boot_id === boot) &&
        (expression === undefined || expression.test(entry.message))
      );
    };
  };

  const answer = (query: LogQuery): LogList => {
    const { entry: asked } = query;
    if (asked !== undefined) {
      const found = entries.filter(({ entry }) => entry.cursor === asked.cursor).filter(matches(query, undefined));
      const logs = found.map((each) => shown(each, query));
      return { logs, total: logs.length, next_cursor: asked.cursor };
    }
    const boot = query.boot === undefined ? undefined : bootAt(entries, query.boot);
    const found = entries.filter(matches(query, boot));
    const { order, cursor, limit } = query;
    const from = cursor === undefined ? undefined : positionOf(cursor);
    const ahead = from === undefined ? found : found.filter((each) => isAhead(entries.indexOf(each), from, order));
    const isFirst = order === "asc" && (from !== undefined || query.isFromOldest === true);
    const page = isFirst ? ahead.slice(0, limit) : ahead.slice(-limit);
    const logs = page.map((each) => shown(each, query));
    if (order === "desc") logs.reverse();
    // Backwards there is an end; forwards entries may come that are not there yet.
    const isAtEnd = order === "desc" && page.length === ahead.length;
    return { logs, total: found.length, next_cursor: isAtEnd ? null : (logs.at(-1)?.cursor ?? cursor ?? null) };
  };

  const readableBy = async (query: LogFilters): Promise<readonly Stored[]> => {
    await readable(anyEntries);
    if (fake.refusal !== undefined) throw new LogQueryRefused(fake.refusal.field, fake.refusal.issue);
    const boot = query.boot === undefined ? undefined : bootAt(entries, query.boot);
    return entries.filter(matches({ ...anyEntries, ...query, limit: 1 }, boot));
  };

  const readable = async ({ units, namespace }: ListedEntries): Promise<readonly Stored[]> => {
    await (fake.hold?.() ?? Promise.resolve());
    if (!fake.available) throw new JournalUnavailable("permission denied");
    const tests = units?.map(compileUnitPattern);
    return entries
      .filter((each) => isInNamespace(namespace, each.namespace))
      .filter((each) => tests === undefined || each.units.some((unit) => tests.some((test) => test(unit))));
  };

  const lacking = (listed: ListedEntries): Lacking => ({ unread: unreadOf(fake.unread, listed) });

  const fake: FakeJournal = {
    async size(signal) {
      await readable(anyEntries);
      return storage.size(signal);
    },
    missing: () => Promise.resolve(fake.absence),
    async boots(listed) {
      const found = await readable(listed);
      const ids = [...new Set(entries.map(({ entry }) => entry.boot_id))];
      const boots = ids.flatMap((bootId, at) => {
        const times = found.flatMap(({ entry, time }) => (entry.boot_id === bootId ? [time] : []));
        if (times.length === 0) return [];
        return [{ index: at - ids.length + 1, id: bootId, first: Math.min(...times), last: Math.max(...times) }];
      });
      return { boots, ...lacking(listed) };
    },
    async fieldNames(listed) {
      const found = await readable(listed);
      const names = [...new Set(found.flatMap(({ fields }) => fields.map(({ name }) => name)))].sort();
      return { names, ...lacking(listed) };
    },
    async fieldValues(name, listed) {
      const found = (await readable(listed)).flatMap(({ fields }) => fields.filter((each) => each.name === name));
      const values = new Map(found.map(({ text, base64 }) => [`${text} ${base64}`, defined({ text, base64 })]));
      return { values: [...values.values()], truncated: false, ...lacking(listed) };
    },
    async histogram(query) {
      const found = await readableBy(query);
      const times = found.map(({ time }) => time);
      const since = query.isFitted.since ? Math.min(query.until, ...times) : query.since;
      const until = query.isFitted.until && times.length > 0 ? Math.max(...times) : query.until;
      return { ...fakeCounts(found, { since, until, most: query.buckets }), ...lacking(query) };
    },
    async facets(query) {
      const found = await readableBy(query);
      const facets = query.fields.map((field) => {
        const counts = new Map<string, number>();
        for (const value of found.flatMap((stored) => facetValues(stored)[field]))
          counts.set(value, (counts.get(value) ?? 0) + 1);
        const values = [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
        return { field, values: values.slice(0, query.limit), distinct: counts.size };
      });
      return { total: found.length, facets, ...lacking(query) };
    },
    async templates(query) {
      const before = query.before === undefined ? [] : await readableBy({ ...query, ...query.before });
      return { ...fakeTemplates(await readableBy(query), before, query), ...lacking(query) };
    },
    learnTemplates: () => Promise.resolve(true),
    rememberedErrors: (since) =>
      Promise.resolve({
        knownSince: entries[0]?.time ?? null,
        errors: fakeTemplates(
          entries.filter(({ priority }) => priority !== null && priority <= 3),
          [],
          {
            ...anyEntries,
            limit: Infinity,
            before: undefined,
            status: undefined,
          },
        )
          .templates.filter(({ first }) => first >= since)
          .map(({ first: firstError, ...template }) => ({ ...template, firstError })),
        ...lacking(anyEntries),
      }),
    async context({ cursor, before, after, fields: names, ...listed }) {
      const found = await readable(listed);
      const at = found.findIndex(({ entry }) => entry.cursor === cursor);
      if (at < 0) return lacking(listed);
      const from = Math.max(0, at - before);
      const around = found
        .slice(from, at + after + 1)
        .map((stored) => shown(stored, { ...anyEntries, limit: 1, fields: names }));
      const context = { entries: around, index: at - from, ...namesUnread(lacking(listed)) };
      return new SerializedJson<LogContext>(new TextEncoder().encode(JSON.stringify(context)));
    },
    async export(query) {
      const { format, position } = query;
      const ahead = (await readableBy(query)).filter((each) => {
        const from = position?.cursor ?? query.cursor;
        return from === undefined || entries.indexOf(each) > positionOf(from);
      });
      const [first] = ahead;
      // One at a time, so that an export has several parts.
      const written = first?.entry.cursor ?? position?.written;
      const bytes = new TextEncoder().encode(first === undefined ? "" : exportText(first, format));
      const isLast = written === undefined || ahead.length <= 1;
      const next = isLast ? undefined : { cursor: written, written, boot: undefined, files: [] };
      return { bytes, written, next, ...lacking(query) };
    },
    canRotate: storage.canRotate,
    rotate: storage.rotate,
    vacuum: storage.vacuum,
    available: true,
    absence: undefined,
    unread: [],
    refusal: undefined,
    hold: undefined,
    queries,
    write,
    async query(query) {
      await (fake.hold?.() ?? Promise.resolve());
      queries.push(query);
      if (!fake.available) throw new JournalUnavailable("permission denied");
      if (fake.refusal !== undefined) throw new LogQueryRefused(fake.refusal.field, fake.refusal.issue);
      const lack = { ...notShown("entries", fake.absence), ...namesUnread(lacking(query)) };
      return new SerializedJson<LogList>(new TextEncoder().encode(JSON.stringify({ ...answer(query), ...lack })));
    },
    async *follow({ cursor, onUnread }, signal) {
      if (!fake.available) throw new JournalUnavailable("permission denied");
      if (fake.unread.length > 0) onUnread?.(fake.unread);
      let next = cursor === undefined ? entries.length : Math.floor(positionOf(cursor)) + 1;
      const ended = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      while (!signal.aborted) {
        if (!fake.available) throw new JournalUnavailable("permission denied");
        const fresh = entries.slice(next);
        next = entries.length;
        if (fresh.length > 0)
          yield fresh.map(({ entry, units, namespace, priority }) => ({ entry, units, namespace, priority }));
        else await Promise.race([woken.promise, ended]);
      }
    },
  };
  return fake;
}

/** Texts have no line feeds. */
function exportText({ entry, fields, time }: Stored, format: ExportFormat): string {
  const { cursor, hostname, identifier, pid, message } = entry;
  const own = fields.map(({ name, text }) => [name, text ?? ""] as const);
  const head = [["__CURSOR", cursor] as const, ["__REALTIME_TIMESTAMP", String(time)] as const];
  switch (format) {
    case "json":
      return `${JSON.stringify(Object.fromEntries([...head, ...own]))}\n`;
    case "journal":
      return `${[...head, ...own].map(([name, text]) => `${name}=${text}\n`).join("")}\n`;
    case "text": {
      const seconds = timestamp(time).slice(0, 19);
      return `${seconds}+0000 ${hostname} ${identifier}[${pid ?? ""}]: ${message}\n`;
    }
  }
}

const isAhead = (position: number, from: number, order: "asc" | "desc"): boolean =>
  order === "asc" ? position > from : position < from;

const facetValues = ({ entry, units, priority }: Stored): Readonly<Record<LogFacet, readonly string[]>> => ({
  unit: units,
  priority: priority === null ? [] : [String(priority)],
  identifier: [entry.identifier],
  hostname: [entry.hostname],
  boot: [entry.boot_id],
  transport: ["journal"],
});

const masking = createMasking(1);

function classOf({ entry, fields }: Stored): MessageClass {
  const bytes = new TextEncoder().encode(entry.message);
  masking.read(bytes, 0, bytes.length, 1);
  const origin = fields.find(({ name }) => name === "MESSAGE_ID")?.text ?? "";
  return { unit: entry.unit, identifier: entry.identifier, origin, text: masking.text() };
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** Templates of entries in the order of time. */
function fakeTemplates(now: readonly Stored[], then: readonly Stored[], query: TemplateQuery): LogTemplateCounts {
  const found = [...then, ...now];
  const { templates, templateOf } = groupClasses(found.map(classOf), digest);
  const isCompared = query.before !== undefined;
  const occurrences = (all: readonly Stored[]) =>
    all.length === 0 ? undefined : { count: all.length, first: all[0]?.time ?? 0, last: all.at(-1)?.time ?? 0 };
  const changes = templates.map((template, position) => {
    const isOwn = (_: Stored, at: number): boolean => templateOf[at] === position;
    const own = found.filter(isOwn);
    const before = occurrences(then.filter(isOwn));
    const after = occurrences(now.filter((each, at) => isOwn(each, then.length + at)));
    return { template, own, before, after };
  });
  const spans = query.before && spansOf({ ...query, before: query.before }, changes);
  const shown = changes
    .map((change) => ({ ...change, status: spans && statusOf(change, spans) }))
    .filter(({ status }) => query.status === undefined || status === query.status);
  return {
    total: found.length,
    other: 0,
    distinct: shown.length,
    templates: shown
      .toSorted(byInterest)
      .slice(0, query.limit)
      .map(({ template, own, before, after, status }) => {
        const severities = own.flatMap(({ priority }) => priority ?? []);
        return {
          ...template,
          priority: severities.length === 0 ? null : Math.min(...severities),
          count: after?.count ?? 0,
          first: own[0]?.time ?? 0,
          last: (after ?? before)?.last ?? 0,
          cursor: own.at(-1)?.entry.cursor ?? null,
          firstError: undefined,
          before: isCompared ? (before?.count ?? 0) : undefined,
          status,
        };
      }),
  };
}

/** In buckets of whole seconds. */
function fakeCounts(
  found: readonly Stored[],
  { since, until, most }: { readonly since: number; readonly until: number; readonly most: number },
): LogCounts {
  const first = Math.floor(since / 1_000_000);
  const last = Math.floor(until / 1_000_000);
  const bucketSeconds = Math.ceil((last - first + 1) / most);
  const count = Math.ceil((last - first + 1) / bucketSeconds);
  const buckets = Array.from({ length: count }, (_, index) => {
    const at = (first + index * bucketSeconds) * 1_000_000;
    const inside = found.filter(({ time }) => time >= at && time < at + bucketSeconds * 1_000_000);
    const priorities = Array.from(
      { length: 8 },
      (_, level) => inside.filter(({ priority }) => priority === level).length,
    );
    return { at, total: inside.length, priorities };
  });
  return { since, until, bucketSeconds, buckets };
}

/** What journald keeps for the files that it writes, once they are new. */
const activeBytes = 8 * 2 ** 20;

export interface FakeJournalStorage extends JournalStorage {
  /** The size from now on. */
  now: JournalSize | undefined;
  /** What was done, in order. */
  readonly actions: readonly string[];
  /** journalctl refuses with this message from now on. */
  refusal: string | undefined;
}

/** A small journal on the disk, with what a test wants otherwise. */
export const fakeJournalSize = (given: Partial<JournalSize> = {}): JournalSize => ({
  diskBytes: 0,
  memoryBytes: 0,
  files: 3,
  directory: "/var/log/journal",
  archivedBytes: 0,
  activeBytes: 0,
  ...given,
});

/** A journal of this size; none where there is no size. */
export function createFakeJournalStorage(
  size: JournalSize | undefined,
  { canRotate = true, strangeBytes = 0 }: { readonly canRotate?: boolean; readonly strangeBytes?: number } = {},
): FakeJournalStorage {
  const actions: string[] = [];
  const act = async (action: string, change: (now: JournalSize) => JournalSize): Promise<void> => {
    await Promise.resolve();
    if (fake.refusal !== undefined) throw new Error(fake.refusal);
    actions.push(action);
    fake.now &&= change(fake.now);
  };
  const fake: FakeJournalStorage = {
    now: size,
    actions,
    refusal: undefined,
    size: () => Promise.resolve(fake.now),
    canRotate,
    rotate: () =>
      act("rotate", (now) => ({
        ...now,
        archivedBytes: Math.max(0, now.diskBytes - strangeBytes),
        diskBytes: now.diskBytes + activeBytes,
        files: now.files + 1,
      })),
    vacuum: (keepBytes) =>
      act(`vacuum ${keepBytes}`, (now) => {
        const archivedBytes = Math.min(now.archivedBytes, keepBytes);
        return { ...now, archivedBytes, diskBytes: now.diskBytes - now.archivedBytes + archivedBytes };
      }),
  };
  return fake;
}
