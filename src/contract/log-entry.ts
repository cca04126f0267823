import { type Static, Type } from "typebox";
import { maxUnreadFiles } from "./limits.ts";
import { MayLack, NullableInteger, optional, Timestamp } from "./schema.ts";

/** syslog severities by name; the index is the number. */
export const priorityNames = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;

/** What `journalctl --namespace` takes. */
export const namespacePattern = "^(\\*|\\+?[A-Za-z0-9:_.@-]+)?$";

/** An id of a template of messages. */
export const templateIdPattern = "^[0-9a-f]{16}$";

/** A value of a field as it is in the journal: text where it is UTF-8 without control characters but line feeds and tabs, else bytes. */
export const JournalValue = optional({
  text: Type.String(),
  base64: Type.String({ description: "The bytes of a value that is not text, in base64 (RFC 4648, section 4)." }),
});

const JournalField = Type.Object({
  name: Type.String(),
  ...JournalValue,
  ...optional({
    next_offset: Type.Integer({
      minimum: 0,
      description:
        "For a value that is too long for one answer: offset of the next part, in bytes. `entry=`, `fields=` with the name and `offset=` with this number return the next part of each value of that name.",
    }),
  }),
});
export type JournalField = Static<typeof JournalField>;

export const LogEntry = Type.Object({
  timestamp: Timestamp("When the journal received the entry, to the microsecond."),
  unit: Type.String({
    description:
      "systemd unit that the entry is about: `UNIT` if systemd itself (process 1) wrote it, `COREDUMP_UNIT` of systemd-coredump, `OBJECT_SYSTEMD_UNIT` if root wrote it, else the unit that wrote the entry. `kernel` for the kernel; empty if there is none. A filter for this unit finds the entry.",
  }),
  priority: Type.Integer({ minimum: 0, maximum: 7, description: "syslog severity; 6 (info) if the entry has none." }),
  message: Type.String({
    description:
      "The message, or the first 8 MiB of a longer one (`truncated`); bytes that are not UTF-8 become U+FFFD.",
  }),
  cursor: Type.String({ description: "Cursor of the entry, also for `journalctl --cursor`." }),
  identifier: Type.String({ description: "SYSLOG_IDENTIFIER; empty if there is none." }),
  pid: NullableInteger("Id of the process that wrote the entry; null if it is unknown."),
  hostname: Type.String({ description: "Host that wrote the entry." }),
  boot_id: Type.String({ description: "Id of the boot during which the entry was written, 32 hexadecimal digits." }),
  ...optional({
    truncated: Type.Boolean({
      description: "True if a value of the entry is longer than 8 MiB and was cut there. Else absent.",
    }),
    next_offset: Type.Integer({
      minimum: 1,
      description:
        "Offset of the rest of the message, in bytes: `entry=` with the cursor and `offset=` with this number return the next part.",
    }),
    fields: Type.Array(JournalField, {
      description:
        "With `fields`: the requested fields in the order of the journal; a field with several values is repeated. Does not include what only the cursor contains.",
    }),
  }),
});
export type LogEntry = Static<typeof LogEntry>;

/** Files of the journal that could not be read. */
export const UnreadFiles = Type.Array(
  Type.Object({
    file: Type.String({
      description:
        "Path of the file, or of a directory that cannot be listed; its name alone if the entries are limited to units.",
    }),
    reason: Type.String({ description: "Why it cannot be read." }),
  }),
  {
    maxItems: maxUnreadFiles,
    description: `Journal files that cannot be read, or not completely: the answer lacks their entries, and does not count them. Absent if there are none. Of more than ${maxUnreadFiles}, the last item says how many more there are.`,
  },
);
export type UnreadFiles = Static<typeof UnreadFiles>;

/** Header of an answer that has no place for {@link UnreadFiles}: their JSON, in ASCII. */
export const unreadHeader = "X-Unread-Files";

/** Of answers that are read from the files of the journal. */
export const MayLackEntries = { ...MayLack, ...optional({ unread: UnreadFiles }) };
