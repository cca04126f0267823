import { type Static, Type } from "typebox";
import { logQueryLimit, maxLogUnits } from "./limits.ts";
import type { Operations } from "./operation.ts";
import { Choice, LooseOptions, NullableInteger, NullableString, optional, Repeatable, Timestamp } from "./schema.ts";

/** syslog severities by name; the index is the number. */
export const priorityNames = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;

/** A value of a field as it is in the journal: text where it is UTF-8 without control characters but line feeds and tabs, else bytes. */
const JournalValue = optional({
  text: Type.String(),
  base64: Type.String({ description: "The bytes of what is not text, in base64 (RFC 4648, section 4)." }),
});

const JournalField = Type.Object({
  name: Type.String(),
  ...JournalValue,
  ...optional({
    next_offset: Type.Integer({
      minimum: 0,
      description:
        "Of a value that is too long for one answer: where it goes on, in bytes. `entry=`, `fields=` with the name and `offset=` with this give the next part of each value of that name.",
    }),
  }),
});
export type JournalField = Static<typeof JournalField>;

export const LogEntry = Type.Object({
  timestamp: Timestamp("When the journal received the entry, to the microsecond."),
  unit: Type.String({
    description:
      "systemd unit that the entry is about: what `UNIT` says where systemd itself (process 1) wrote it, `COREDUMP_UNIT` of systemd-coredump or `OBJECT_SYSTEMD_UNIT` where root wrote it, else the unit that wrote the entry. `kernel` for the kernel, empty where there is none. A filter for this unit finds the entry.",
  }),
  priority: Type.Integer({ minimum: 0, maximum: 7, description: "syslog severity; 6 (info) where none was given." }),
  message: Type.String({
    description:
      "The message, of a very long one the first 8 MiB (`truncated`); bytes that are not UTF-8 become U+FFFD.",
  }),
  cursor: Type.String({ description: "Names the entry, here and in `journalctl --cursor`." }),
  identifier: Type.String({ description: "SYSLOG_IDENTIFIER; empty where there is none." }),
  pid: NullableInteger("Process that wrote the entry; null where it is not known."),
  hostname: Type.String(),
  boot_id: Type.String({ description: "The boot during which the entry was written, 32 hex digits." }),
  ...optional({
    truncated: Type.Boolean({
      description: "True where a text of the entry is longer than 8 MiB and ends there. Else absent.",
    }),
    next_offset: Type.Integer({
      minimum: 1,
      description:
        "Where the message goes on, in bytes: `entry=` with the cursor and `offset=` with this give the next part.",
    }),
    fields: Type.Array(JournalField, {
      description:
        "With `fields`: those fields, in the order of the journal, one that is there more than once as often. Without what only the cursor says.",
    }),
  }),
});
export type LogEntry = Static<typeof LogEntry>;

export const LogList = Type.Object({
  logs: Type.Array(LogEntry),
  total: Type.Integer({ description: "All entries that match in the window, before `limit`." }),
  next_cursor: NullableString(
    "Pass it as `cursor` to go on in the same order: later entries with `asc`, earlier ones with `desc`. Null when there is nothing to go on from.",
  ),
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
});
export type LogBootList = Static<typeof LogBootList>;

export const LogFieldNames = Type.Object({ names: Type.Array(Type.String(), { description: "In alphabetic order." }) });
export type LogFieldNames = Static<typeof LogFieldNames>;

export const LogFieldValues = Type.Object({
  values: Type.Array(Type.Object(JournalValue), { description: "Each once, in no order." }),
  truncated: Type.Boolean({
    description: "Whether there are more: an answer has at most 100 000 values, and 16 MiB of them.",
  }),
});
export type LogFieldValues = Static<typeof LogFieldValues>;

export const LogUsage = Type.Object({
  disk_bytes: Type.Integer({ minimum: 0, description: "Of the files on the disk." }),
  memory_bytes: Type.Integer({ minimum: 0, description: "Of the files in memory, below `/run`." }),
  files: Type.Integer({ minimum: 0 }),
});
export type LogUsage = Static<typeof LogUsage>;

const orders = ["asc", "desc"] as const;

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
    query: LooseOptions({
      unit: Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          "Unit name or pattern, matched as `journalctl -u` does: what the unit wrote and what systemd wrote about it. `nginx` means `nginx.service`; `kernel` is the kernel.",
        examples: ["nginx.service"],
      }),
      units: Repeatable(Type.String({ minLength: 1, maxLength: 255 }), {
        maxItems: maxLogUnits,
        description:
          "The same for several units, as `units=nginx&units=sshd`: the entries of any of them, and of `unit`.",
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
      fields: Type.String({
        minLength: 1,
        maxLength: 4096,
        pattern: "^(\\*|[A-Z0-9_]{1,64}(,[A-Z0-9_]{1,64})*)$",
        description:
          "Adds `fields` to each entry: those with these names, separated by commas, or all with `*`, as bytes where they are not text.",
        examples: ["CODE_FILE,CODE_LINE"],
      }),
      grep: Type.String({
        minLength: 1,
        maxLength: 1024,
        description:
          "Regular expression over the message, in the syntax of PCRE2 as for `journalctl -g`, without look-around and back references: it finds the same, or is refused with the reason. Case matters only where the expression has one of the letters A to Z.",
      }),
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
      boot: Type.String({
        maxLength: 40,
        description:
          "A boot id, or an offset as `journalctl -b` takes it: `0` the last boot, `-1` the one before it, `1` the first.",
      }),
      identifier: Type.String({ minLength: 1, maxLength: 1024, description: "SYSLOG_IDENTIFIER." }),
    }),
    response: LogList,
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
