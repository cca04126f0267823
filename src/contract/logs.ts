import type { Static } from "typebox";
import { Type } from "typebox";
import { Timestamp } from "./schema.ts";

/** syslog severities by name; the index is the number. */
export const priorityNames = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;

export const LogEntry = Type.Object({
  timestamp: Timestamp("When the entry was written."),
  unit: Type.String({ description: "systemd unit; `kernel` for the kernel, empty where there is none." }),
  priority: Type.Integer({ minimum: 0, maximum: 7 }),
  message: Type.String(),
  cursor: Type.String(),
  identifier: Type.String(),
  pid: Type.Union([Type.Integer(), Type.Null()]),
  hostname: Type.String(),
  boot_id: Type.String(),
});
export type LogEntry = Static<typeof LogEntry>;
