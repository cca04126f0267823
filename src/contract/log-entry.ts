import { type Static, Type } from "typebox";
import { NullableInteger, optional, Timestamp } from "./schema.ts";

/** syslog severities by name; the index is the number. */
export const priorityNames = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;

/** What `journalctl --namespace` takes. */
export const namespacePattern = "^(\\*|\\+?[A-Za-z0-9:_.@-]+)?$";

/** A value of a field as it is in the journal: text where it is UTF-8 without control characters but line feeds and tabs, else bytes. */
export const JournalValue = optional({
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
  hostname: Type.String({ description: "Host that wrote the entry." }),
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
