import { type Static, Type } from "typebox";
import { logQueryLimit } from "./limits.ts";
import type { Operations } from "./operation.ts";
import { Choice, LooseOptions, NullableInteger, NullableString, optional, Timestamp } from "./schema.ts";

/** syslog severities by name; the index is the number. */
export const priorityNames = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;

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
        description: "With `entry`: begin its message after so many bytes, as `next_offset` said.",
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
} as const satisfies Operations;
