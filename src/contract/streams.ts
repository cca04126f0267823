import type { Static } from "typebox";
import { Type } from "typebox";
import { HealthCheckResult } from "./checks.ts";
import { ErrorBody } from "./errors.ts";
import { LogEntry, priorityNames } from "./logs.ts";

const prioritySpellings = [...priorityNames, "emergency", "panic", "critical", "error", "warn"] as const;

/** What a client of `/ws/logs` may send. */
export const LogFilterFrame = Type.Object({
  type: Type.Literal("filter"),
  unit: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  priority: Type.Optional(
    Type.Union([
      Type.Unsafe<(typeof prioritySpellings)[number]>({ type: "string", enum: [...prioritySpellings] }),
      Type.Integer({ minimum: 0, maximum: 7 }),
      Type.Null(),
    ]),
  ),
});
export type LogFilterFrame = Static<typeof LogFilterFrame>;

/** What `/ws/logs` sends: log entries, a count of what a slow client lost, the refusal of a filter. */
export const LogServerFrame = Type.Union([
  LogEntry,
  Type.Object({ type: Type.Literal("dropped"), message: Type.String(), dropped: Type.Integer() }),
  Type.Object({ type: Type.Literal("error"), message: Type.String(), ...ErrorBody.properties }),
]);
export type LogServerFrame = Static<typeof LogServerFrame>;

/** What `/ws/health` sends. */
export const HealthFrame = Type.Object({
  ...HealthCheckResult.properties,
  previous_status: Type.Optional(Type.String()),
});
export type HealthFrame = Static<typeof HealthFrame>;
