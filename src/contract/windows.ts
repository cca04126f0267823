import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { ListShape, NullableString, NullableTimestamp } from "./schema.ts";

export const Window = Type.Object({
  name: Type.String({ description: "Name in the settings." }),
  open: Type.Boolean({ description: "Whether the window is open now." }),
  opened_at: NullableTimestamp("When it last opened; null if it never did."),
  closes_at: NullableTimestamp("When it closes; null if it is closed, or if no end is foreseeable."),
  opens_next_at: NullableTimestamp("When it opens next after it has closed; null if that is not foreseeable."),
  cron: Type.String({ description: "Cron expression of when it opens, in local time." }),
  timezone: NullableString("Time zone of `cron`; null for that of the host."),
  duration_seconds: Type.Integer({ description: "How long it stays open, in seconds." }),
  delay_seconds: Type.Integer({ description: "Delay of this host after `cron` (`jitter`), in seconds." }),
  allow: Type.Array(Type.String(), { description: "Scopes that are valid only inside a window that names them." }),
  deny: Type.Array(Type.String(), { description: "Scopes that are not valid inside it." }),
  silence: Type.Boolean({ description: "Whether notifications of alerts and checks are silenced while it is open." }),
});
export type Window = Static<typeof Window>;

export const WindowList = Type.Object({
  windows: Type.Array(Window, { description: "Windows in the order of the settings." }),
  ...ListShape,
});

export const windows = {
  listWindows: {
    method: "GET",
    path: "/system/windows",
    tag: "System",
    summary: "Windows in which changes are allowed or forbidden",
    description:
      "The windows in the settings. A call that one of them prevents is refused with `CONFLICT`, `details.reason` `outside_window` and `details.next_window`.",
    scope: "system:read",
    effect: "read",
    fromMemory: true,
    response: WindowList,
    errors: [],
  },
} as const satisfies Operations;
