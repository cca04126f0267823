import { type Static, Type } from "typebox";
import {
  logBuckets,
  logContextLimit,
  logFacetLimit,
  logFieldValuesLimit,
  logQueryLimit,
  logTemplateLimit,
  maxLogUnits,
} from "./limits.ts";
import { JournalValue, LogEntry, namespacePattern } from "./log-entry.ts";
import {
  LogContext,
  LogFacets,
  LogHistogram,
  LogTemplates,
  logFacets,
  logTemplateStatuses,
} from "./log-exploration.ts";
import type { Operations } from "./operation.ts";
import {
  Choice,
  Cursor,
  ListShape,
  MayLack,
  NullableString,
  Options,
  optional,
  Repeatable,
  Strict,
  Timestamp,
} from "./schema.ts";

export const LogList = Type.Object({
  logs: Type.Array(LogEntry),
  total: Type.Integer({ description: "All entries that match in the window, before `limit`." }),
  next_cursor: NullableString(
    "Pass it as `cursor` to go on in the same order: later entries with `asc`, earlier ones with `desc`. Null when there is nothing to go on from.",
  ),
  ...MayLack,
});
export type LogList = Static<typeof LogList>;

export const LogBootList = Type.Object({
  boots: Type.Array(
    Type.Object({
      index: Type.Integer({ description: "What `boot` takes for it: 0 the last, -1 the one before it." }),
      boot_id: Type.String({ description: "32 hex digits." }),
      first: Timestamp("Of its first entry."),
      last: Timestamp("Of its last entry."),
    }),
    { description: "Oldest first." },
  ),
  ...ListShape,
  ...MayLack,
});
export type LogBootList = Static<typeof LogBootList>;

export const LogFieldNames = Type.Object({
  names: Type.Array(Type.String(), { description: "In alphabetic order." }),
  ...ListShape,
  ...MayLack,
});
export type LogFieldNames = Static<typeof LogFieldNames>;

export const LogFieldValues = Type.Object({
  values: Type.Array(Type.Object(JournalValue), {
    description:
      "Each once; in an order that stays the same from page to page where there is a `limit` or `cursor`, else in no order.",
  }),
  truncated: Type.Boolean({
    description: "Whether there are more: an answer has at most 100 000 values, and 16 MiB of them.",
  }),
  ...ListShape,
  ...MayLack,
});
export type LogFieldValues = Static<typeof LogFieldValues>;

export const LogUsage = Type.Object({
  disk_bytes: Type.Integer({ minimum: 0, description: "Of the files on the disk." }),
  memory_bytes: Type.Integer({ minimum: 0, description: "Of the files in memory, below `/run`." }),
  files: Type.Integer({ description: "Files of the journal.", minimum: 0 }),
  ...MayLack,
});
export type LogUsage = Static<typeof LogUsage>;

const orders = ["asc", "desc"] as const;

/** How entries are exported. */
export const logExportFormats = ["journal", "json", "text"] as const;

const exampleCursor = `s=${"a".repeat(32)};i=1;b=${"b".repeat(32)};m=1;t=6474e5d8ea000;x=1`;

/** Filters of queries, which all must match. */
const window = {
  unit: Type.String({
    minLength: 1,
    maxLength: 255,
    description:
      "Unit name or pattern, matched as `journalctl -u` does: what the unit wrote and what systemd wrote about it. `nginx` means `nginx.service`; `kernel` is the kernel.",
    examples: ["nginx.service"],
  }),
  units: Repeatable(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: maxLogUnits,
    description: "The same for several units, as `units=nginx&units=sshd`: the entries of any of them, and of `unit`.",
  }),
  since: Type.String({
    format: "date-time",
    description: "Start of the window, RFC 3339. One hour ago unless `cursor` or `boot` is given.",
  }),
  until: Type.String({ format: "date-time", description: "End of the window, RFC 3339. Now unless given." }),
  priority: Type.Integer({
    minimum: 0,
    maximum: 7,
    description: "This severity and more severe ones, 0 (emerg) to 7 (debug).",
  }),
};
const text = {
  grep: Type.String({
    minLength: 1,
    maxLength: 1024,
    description:
      "Regular expression over the message, in the syntax of PCRE2 as for `journalctl -g`, without look-around and back references: it finds the same, or is refused with the reason. Case matters only where the expression has one of the letters A to Z.",
  }),
};
/** Of which journals the entries are. */
const namespaces = {
  namespace: Type.String({
    maxLength: 222,
    pattern: namespacePattern,
    description:
      "Namespaces of the journal (`LogNamespace=` of units), as `journalctl --namespace` takes them: a name; `+` and a name for that one and the default one; `*` for all; empty for the default one. Left out: all where the entries are those of certain units, so that a unit's own is among them; else the default one.",
    examples: ["tenant", "*"],
  }),
};
const origin = {
  ...namespaces,
  boot: Type.String({
    maxLength: 40,
    description:
      "A boot id, or an offset as `journalctl -b` takes it: `0` the last boot, `-1` the one before it, `1` the first.",
  }),
  identifier: Type.String({ minLength: 1, maxLength: 1024, description: "SYSLOG_IDENTIFIER." }),
};
const countsDescription =
  "Exact counts, from the indexes of the journal's files. A key that is narrowed to units counts only theirs. All filters must match.";
const fieldsOfEntries = {
  fields: Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: "^(\\*|[A-Z0-9_]{1,64}(,[A-Z0-9_]{1,64})*)$",
    description:
      "Adds `fields` to each entry: those with these names, separated by commas, or all with `*`, as bytes where they are not text.",
    examples: ["CODE_FILE,CODE_LINE"],
  }),
};
const countFilters = {
  ...window,
  since: Type.String({
    format: "date-time",
    description: "Start of the window, RFC 3339. One hour ago; with `boot` its first entry.",
  }),
  until: Type.String({
    format: "date-time",
    description: "End of the window, RFC 3339. Now; in a histogram with `boot` its last entry.",
  }),
  ...text,
  ...origin,
};

export const logs = {
  listLogs: {
    method: "GET",
    path: "/system/logs",
    tag: "System",
    summary: "Entries of the journal",
    description:
      "The newest `limit` entries of the window, oldest first. A key that is narrowed to units sees only theirs. All filters must match.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      ...window,
      limit: Type.Integer({
        ...logQueryLimit,
        description: "Maximum entries. An answer over 64 MiB has fewer; `next_cursor` goes on.",
      }),
      cursor: Type.String({
        maxLength: 512,
        description: "Go on from this entry: `next_cursor` of an earlier answer, or the `cursor` of an entry.",
      }),
      order: Choice(
        orders,
        "`asc`: oldest first; with a cursor the entries after it. `desc`: newest first; with a cursor those before it.",
        "asc",
      ),
      from: Choice(
        ["newest", "oldest"],
        "With `asc` and without a cursor: whether the page has the newest entries of the window, or begins with the oldest.",
        "newest",
      ),
      ...fieldsOfEntries,
      ...text,
      entry: Type.String({
        maxLength: 512,
        description:
          "Only the entry with this cursor, whenever it was written; `cursor`, `order` and `limit` do not count.",
      }),
      offset: Type.Integer({
        minimum: 0,
        maximum: 2 ** 32,
        description:
          "With `entry`: begin its message, and each value of `fields`, after so many bytes, as `next_offset` said.",
      }),
      ...origin,
    }),
    response: LogList,
    errors: ["UNAVAILABLE"],
  },
  getLogHistogram: {
    method: "GET",
    path: "/system/logs/histogram",
    tag: "System",
    summary: "How many entries the journal has over time",
    description: countsDescription,
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      ...countFilters,
      buckets: Type.Integer({
        ...logBuckets,
        description: "At most so many buckets: they are as short as that allows, of a round length.",
      }),
    }),
    response: LogHistogram,
    errors: ["UNAVAILABLE"],
  },
  getLogFacets: {
    method: "GET",
    path: "/system/logs/facets",
    tag: "System",
    summary: "What the entries of the journal have, and how often",
    description: countsDescription,
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      ...countFilters,
      fields: Type.String({
        minLength: 1,
        maxLength: 256,
        pattern: "^[a-z]+(,[a-z]+)*$",
        description: `What to count by, separated by commas: ${logFacets.join(", ")}. All of them when left out.`,
        examples: ["unit,priority"],
      }),
      limit: Type.Integer({ ...logFacetLimit, description: "Maximum values of each field." }),
    }),
    response: LogFacets,
    errors: ["UNAVAILABLE"],
  },
  getLogTemplates: {
    method: "GET",
    path: "/system/logs/templates",
    tag: "System",
    summary: "What programs write to the journal again and again",
    description:
      "Groups entries by what their messages have in common: their MESSAGE_ID, else their place in the source, else their words without numbers, addresses, names of files and whatever else differs. Every entry is counted once. A key that is narrowed to units counts only theirs.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      ...countFilters,
      compare: Type.String({
        minLength: 1,
        maxLength: 128,
        description:
          "Says what is new, gone or more frequent since a moment: `boot` (the start of the last boot), or a time as RFC 3339. `since` is the first entry of the journal then unless given.",
        examples: ["boot", "2026-01-31T12:00:00Z"],
      }),
      status: Choice(logTemplateStatuses, "With `compare`: those alone that have changed so."),
      limit: Type.Integer({ ...logTemplateLimit, description: "Maximum templates." }),
    }),
    response: LogTemplates,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  getLogContext: {
    method: "GET",
    path: "/system/logs/context",
    tag: "System",
    summary: "What stands around an entry of the journal",
    description:
      "The entry and those right before and after it, whoever wrote them, of all namespaces unless told otherwise. A key that is narrowed to units sees only theirs.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Strict({
      cursor: Type.String({ minLength: 1, maxLength: 512, description: "The `cursor` of the entry." }),
      ...optional({
        before: Type.Integer({ ...logContextLimit, description: "Maximum entries before it." }),
        after: Type.Integer({ ...logContextLimit, description: "Maximum entries after it." }),
        ...namespaces,
        ...fieldsOfEntries,
      }),
    }),
    response: LogContext,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  exportLogs: {
    method: "GET",
    path: "/system/logs/export",
    tag: "System",
    summary: "All entries of a window of the journal",
    description:
      "All entries that match, oldest first, however many they are: those that the journal has when the export begins. The connection is cut where it cannot go on, as the end of an answer says that it is complete. To go on after what has arrived, ask again with the `cursor` of its last entry: `__CURSOR` in `journal` and `json`; in `text` the last line has it, where the answer is complete. Where there is no journal of what is asked for, the answer is `UNAVAILABLE`, and `details.reason` says why. A key that is narrowed to units gets only theirs. All filters must match. A key has at most 2 exports at a time.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    takesLong: true,
    query: Options({
      ...window,
      ...text,
      ...origin,
      format: Choice(
        logExportFormats,
        "`journal`: the Journal Export Format of systemd, for `systemd-journal-remote`. `json`: its Journal JSON Format, an entry on each line. `text`: as `journalctl -o short-iso --show-cursor`, in local time of the host.",
        "journal",
      ),
      all: Type.Boolean({
        default: false,
        description:
          "As `journalctl --all`: in `json` also values of 4 KiB and more, else null (bytes that are not text up to 16 MiB); in `text` also messages that are not printable. `journal` always has all.",
      }),
      cursor: Type.String({ maxLength: 512, description: "Begin after the entry with this cursor." }),
    }),
    mediaTypes: {
      "application/vnd.fdo.journal": `__CURSOR=${exampleCursor}\n__REALTIME_TIMESTAMP=1767225600000000\n__MONOTONIC_TIMESTAMP=1\n_BOOT_ID=${"b".repeat(32)}\nMESSAGE=started\n\n`,
      "application/x-ndjson": `{"__CURSOR":"${exampleCursor}","__REALTIME_TIMESTAMP":"1767225600000000","__MONOTONIC_TIMESTAMP":"1","_BOOT_ID":"${"b".repeat(32)}","MESSAGE":"started"}\n`,
      "text/plain": `2026-01-01T00:00:00+0000 web1 app[42]: started\n-- cursor: ${exampleCursor}\n`,
    },
    response: Type.String({ description: "Entries, in the format that was asked for." }),
    errors: ["UNAVAILABLE"],
  },
  listLogBoots: {
    method: "GET",
    path: "/system/logs/boots",
    tag: "System",
    summary: "Boots of which the journal has entries",
    description: "A key that is narrowed to units sees the boots in which those wrote, by their entries.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options(namespaces),
    response: LogBootList,
    errors: ["UNAVAILABLE"],
  },
  listLogFields: {
    method: "GET",
    path: "/system/logs/fields",
    tag: "System",
    summary: "Names of the fields of journal entries",
    description: "A key that is narrowed to units sees those of their entries.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options(namespaces),
    response: LogFieldNames,
    errors: ["UNAVAILABLE"],
  },
  listLogFieldValues: {
    method: "GET",
    path: "/system/logs/fields/{name}",
    tag: "System",
    summary: "Values that a field has in the journal",
    description: "A key that is narrowed to units sees those of their entries.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    params: Type.Object({
      name: Type.String({ pattern: "^[A-Za-z0-9_]{1,64}$", description: "Name of the field.", examples: ["_COMM"] }),
    }),
    query: Options({
      ...namespaces,
      limit: Type.Integer({ ...logFieldValuesLimit, description: "Maximum results; all without it." }),
      cursor: Cursor,
    }),
    response: LogFieldValues,
    errors: ["UNAVAILABLE"],
  },
  getLogUsage: {
    method: "GET",
    path: "/system/logs/usage",
    tag: "System",
    summary: "Room that the journal takes",
    description: "A key that is narrowed to units is refused: the files hold what all of them wrote.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    response: LogUsage,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
