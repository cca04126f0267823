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
import { JournalValue, LogEntry, MayLackEntries, namespacePattern, templateIdPattern } from "./log-entry.ts";
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
  total: Type.Integer({ description: "Number of matching entries in the window, before `limit`." }),
  next_cursor: NullableString(
    "Pass it as `cursor` to continue in the same order: later entries with `asc`, earlier ones with `desc`. Null if there is no entry to continue from.",
  ),
  ...MayLackEntries,
});
export type LogList = Static<typeof LogList>;

export const LogBootList = Type.Object({
  boots: Type.Array(
    Type.Object({
      index: Type.Integer({
        description: "Value of the parameter `boot` for it: 0 is the last boot, -1 the previous one.",
      }),
      boot_id: Type.String({ description: "Boot id, 32 hexadecimal digits." }),
      first: Timestamp("Timestamp of its first entry."),
      last: Timestamp("Timestamp of its last entry."),
    }),
    { description: "Oldest first." },
  ),
  ...ListShape,
  ...MayLackEntries,
});
export type LogBootList = Static<typeof LogBootList>;

export const LogFieldNames = Type.Object({
  names: Type.Array(Type.String(), { description: "In alphabetic order." }),
  ...ListShape,
  ...MayLackEntries,
});
export type LogFieldNames = Static<typeof LogFieldNames>;

export const LogFieldValues = Type.Object({
  values: Type.Array(Type.Object(JournalValue), {
    description:
      "Distinct values. The order is the same on all pages if `limit` or `cursor` is given; else it is not defined.",
  }),
  truncated: Type.Boolean({
    description: "Whether there are more: an answer has at most 100 000 values and 16 MiB.",
  }),
  ...ListShape,
  ...MayLackEntries,
});
export type LogFieldValues = Static<typeof LogFieldValues>;

export const LogUsage = Type.Object({
  disk_bytes: Type.Integer({ minimum: 0, description: "Size of the files on disk." }),
  memory_bytes: Type.Integer({ minimum: 0, description: "Size of the files in memory, below `/run`." }),
  files: Type.Integer({ description: "Number of journal files.", minimum: 0 }),
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
    description: "Several units, as in `units=nginx&units=sshd`: entries of any of them, or of `unit`.",
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
      "Regular expression for the message, in PCRE2 syntax as for `journalctl -g`, without look-around and back references. It matches the same entries, or is refused with the reason. Case-insensitive unless the expression contains a letter A to Z.",
  }),
  template: Type.String({
    pattern: templateIdPattern,
    description:
      "Id of a template, as `GET /system/logs/templates` lists it: only its entries, as many as are counted there with the same filters. An id that the journal does not have, or not among the entries that the request may read, is refused.",
    examples: ["9ce8c1cd1fdc361b"],
  }),
};
/** Of which journals the entries are. */
const namespaces = {
  namespace: Type.String({
    maxLength: 222,
    pattern: namespacePattern,
    description:
      "Namespaces of the journal (`LogNamespace=` of units), as `journalctl --namespace` takes them: a name; `+` and a name for that one and the default one; `*` for all; empty for the default one. Unless given: all if the entries are limited to units, so that the namespace of each unit is included; else the default one.",
    examples: ["tenant", "*"],
  }),
};
const origin = {
  ...namespaces,
  boot: Type.String({
    maxLength: 40,
    description:
      "A boot id, or an offset as `journalctl -b` takes it: `0` is the last boot, `-1` the previous one, `1` the first.",
  }),
  identifier: Type.String({ minLength: 1, maxLength: 1024, description: "SYSLOG_IDENTIFIER." }),
};
const countsDescription =
  "Exact counts, from the indexes of the journal files. For a key that is narrowed to units, only their entries count. An entry must match all filters.";
const fieldsOfEntries = {
  fields: Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: "^(\\*|[A-Z0-9_]{1,64}(,[A-Z0-9_]{1,64})*)$",
    description:
      "Adds `fields` to each entry: the fields with these names, separated by commas, or all with `*`; values that are not text are sent as bytes.",
    examples: ["CODE_FILE,CODE_LINE"],
  }),
};
const countFilters = {
  ...window,
  since: Type.String({
    format: "date-time",
    description: "Start of the window, RFC 3339. One hour ago unless given; with `boot`, its first entry.",
  }),
  until: Type.String({
    format: "date-time",
    description: "End of the window, RFC 3339. Now unless given; in a histogram with `boot`, its last entry.",
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
      "The newest `limit` entries of the window, oldest first. A key that is narrowed to units sees only their entries. An entry must match all filters.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      ...window,
      limit: Type.Integer({
        ...logQueryLimit,
        description: "Maximum entries. An answer is limited to 64 MiB and may have fewer; continue with `next_cursor`.",
      }),
      cursor: Type.String({
        maxLength: 512,
        description: "Continue from this entry: `next_cursor` of an earlier answer, or the `cursor` of an entry.",
      }),
      order: Choice(
        orders,
        "`asc`: oldest first; with a cursor the entries after it. `desc`: newest first; with a cursor those before it.",
        "asc",
      ),
      from: Choice(
        ["newest", "oldest"],
        "With `asc` and without a cursor: whether the page has the newest entries of the window, or starts with the oldest.",
        "newest",
      ),
      ...fieldsOfEntries,
      ...text,
      entry: Type.String({
        maxLength: 512,
        description:
          "Only the entry with this cursor, whenever it was written; `cursor`, `order` and `limit` are ignored.",
      }),
      offset: Type.Integer({
        minimum: 0,
        maximum: 2 ** 32,
        description:
          "With `entry`: start its message, and each value of `fields`, at this offset in bytes, from `next_offset`.",
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
    summary: "Number of journal entries over time",
    description: countsDescription,
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      ...countFilters,
      buckets: Type.Integer({
        ...logBuckets,
        description: "Maximum buckets; their length is the shortest round length that this allows.",
      }),
    }),
    response: LogHistogram,
    errors: ["UNAVAILABLE"],
  },
  getLogFacets: {
    method: "GET",
    path: "/system/logs/facets",
    tag: "System",
    summary: "Values of journal fields and their frequency",
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
        description: `Fields to count, separated by commas: ${logFacets.join(", ")}. All of them unless given.`,
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
    summary: "Recurring messages in the journal",
    description:
      "Groups entries by what their messages have in common: their MESSAGE_ID, else their place in the source code, else their words without numbers, addresses, file names and other varying parts. Every entry is counted once. For a key that is narrowed to units, only their entries count.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    query: Options({
      ...countFilters,
      compare: Type.String({
        minLength: 1,
        maxLength: 128,
        description:
          "Compares the time before and after this one: `boot` (the start of the last boot), an RFC 3339 time, or `snapshot:` with the id of a snapshot (needs `updates:read`). `since` is then the first entry of the journal unless given. `boot:` with a boot id or an offset, as in `boot:-1`, compares the entries of `boot` (the last one unless given) with those of that boot. Two RFC 3339 times with `/` between compare the entries from `since` to `until` with those of that window.",
        examples: ["boot", "2026-01-31T12:00:00Z", "snapshot:20260131-120000", "boot:-1"],
      }),
      status: Choice(logTemplateStatuses, "With `compare`: only templates with this change."),
      limit: Type.Integer({ ...logTemplateLimit, description: "Maximum templates." }),
    }),
    response: LogTemplates,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
  getLogContext: {
    method: "GET",
    path: "/system/logs/context",
    tag: "System",
    summary: "Context of a journal entry",
    description:
      "The entry and those right before and after it, from all units, and from all namespaces unless `namespace` is given. A key that is narrowed to units sees only their entries.",
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
    summary: "Export all journal entries of a window",
    description:
      "All matching entries, oldest first, without a limit: those that the journal has when the export starts. If the export fails, the connection is cut, because a regular end means that the answer is complete. If journal files cannot be read, the header `X-Unread-Files` names them as `unread` does in other answers, and a regular end means that nothing else is missing; if that turns out only during the export, the connection is cut. To continue, send the request again with the `cursor` of the last entry that arrived: `__CURSOR` in `journal` and `json`; in `text` it is in the last line of a complete answer. If there is no such journal, the answer is `UNAVAILABLE`, and `details.reason` says why. A key that is narrowed to units gets only their entries. An entry must match all filters. A key can have at most 2 exports at a time.",
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
        "`journal`: the Journal Export Format of systemd, for `systemd-journal-remote`. `json`: its Journal JSON Format, one entry on each line. `text`: as `journalctl -o short-iso --show-cursor`, in local time of the host.",
        "journal",
      ),
      all: Type.Boolean({
        default: false,
        description:
          "As `journalctl --all`: `json` includes values of 4 KiB and more, which are null otherwise (bytes that are not text up to 16 MiB); `text` includes messages that are not printable. `journal` always includes all.",
      }),
      cursor: Type.String({ maxLength: 512, description: "Start after the entry with this cursor." }),
    }),
    mediaTypes: {
      "application/vnd.fdo.journal": `__CURSOR=${exampleCursor}\n__REALTIME_TIMESTAMP=1767225600000000\n__MONOTONIC_TIMESTAMP=1\n_BOOT_ID=${"b".repeat(32)}\nMESSAGE=started\n\n`,
      "application/x-ndjson": `{"__CURSOR":"${exampleCursor}","__REALTIME_TIMESTAMP":"1767225600000000","__MONOTONIC_TIMESTAMP":"1","_BOOT_ID":"${"b".repeat(32)}","MESSAGE":"started"}\n`,
      "text/plain": `2026-01-01T00:00:00+0000 web1 app[42]: started\n-- cursor: ${exampleCursor}\n`,
    },
    response: Type.String({ description: "Entries in the requested format." }),
    errors: ["UNAVAILABLE"],
  },
  listLogBoots: {
    method: "GET",
    path: "/system/logs/boots",
    tag: "System",
    summary: "Boots with entries in the journal",
    description: "A key that is narrowed to units sees only boots with entries of these units.",
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
    description: "A key that is narrowed to units sees only what their entries have.",
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
    summary: "Values of a journal field",
    description: "A key that is narrowed to units sees only what their entries have.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    params: Type.Object({
      name: Type.String({ pattern: "^[A-Za-z0-9_]{1,64}$", description: "Name of the field.", examples: ["_COMM"] }),
    }),
    query: Options({
      ...namespaces,
      limit: Type.Integer({ ...logFieldValuesLimit, description: "Maximum results; all unless given." }),
      cursor: Cursor,
    }),
    response: LogFieldValues,
    errors: ["UNAVAILABLE"],
  },
  getLogUsage: {
    method: "GET",
    path: "/system/logs/usage",
    tag: "System",
    summary: "Disk usage of the journal",
    description: "A key that is narrowed to units is refused, because the files contain the entries of all units.",
    scope: "logs:read",
    narrows: "answer",
    effect: "read",
    response: LogUsage,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
