import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { ListShape, NullableString, NullableTimestamp } from "./schema.ts";

export const Window = Type.Object({
  name: Type.String({ description: "Its name in the settings." }),
  open: Type.Boolean({ description: "Whether it is open now." }),
  opened_at: NullableTimestamp("When it opened last; null when it never did."),
  closes_at: NullableTimestamp("When it closes; null when it is closed, or no end is in sight."),
  opens_next_at: NullableTimestamp("When it opens next, after it has closed; null when that is not in sight."),
  cron: Type.String({ description: "When it opens, by local time." }),
  timezone: NullableString("Of `cron`; null for the host's own."),
  duration_seconds: Type.Integer({ description: "How long an opening lasts." }),
  delay_seconds: Type.Integer({ description: "By how much this host opens later than `cron` says (`jitter`)." }),
  allow: Type.Array(Type.String(), { description: "Scopes that are good only inside a window that names them." }),
  deny: Type.Array(Type.String(), { description: "Scopes that are not good inside it." }),
  silence: Type.Boolean({ description: "Whether nobody is told of alerts and checks while it is open." }),
});
export type Window = Static<typeof Window>;

export const WindowList = Type.Object({
  windows: Type.Array(Window, { description: "In the order of the settings." }),
  ...ListShape,
});

export const windows = {
  listWindows: {
    method: "GET",
    path: "/system/windows",
    tag: "System",
    summary: "Windows in which changes are allowed or forbidden",
    description:
      "Those of the settings. A call that one of them holds back is refused with `CONFLICT`, `details.reason` `outside_window` and `details.next_window`.",
    scope: "system:read",
    effect: "read",
    fromMemory: true,
    response: WindowList,
    errors: [],
  },
} as const satisfies Operations;
