import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, ListShape, NullableInteger, NullableString, Options, Timestamp } from "./schema.ts";

/** `ok`: done. `refused`: by the service, so nothing was done. `failed`: begun without success. */
export const auditOutcomes = ["ok", "refused", "failed"] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

export const auditListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

const Digest = (description: string) => Type.String({ pattern: "^[0-9a-f]{64}$", description });
const Outcome = Choice(
  auditOutcomes,
  "`refused`: the service said no, and nothing was done. `failed`: it went wrong, or the answer says `success: false`.",
);

/** An entry as in the file, member by member. docs/audit.md defines `hash`. */
export const AuditRecord = Type.Object({
  seq: Type.Integer({ minimum: 1, description: "Number of the entry; the first has 1, and none is left out." }),
  prev: Digest("`hash` of the entry before; 64 zeros in the first."),
  time: Timestamp("When it was done, or refused."),
  operation: Type.String({
    description:
      "Name of the operation, as the reference has it. Names with a dot are events: `operation.ended`, `service.started`, `calls.refused`, `audit.pruned` and the like.",
  }),
  outcome: Outcome,
  status: NullableInteger(
    "HTTP status of the answer; null of what was no call, and of a call during which the service ended.",
  ),
  error: NullableString("Error code; null when there was none."),
  method: NullableString("HTTP method; null of what was no call."),
  path: NullableString("Path template; null of a path that does not exist, and of what was no call."),
  target: Type.Unsafe<Readonly<Record<string, string>>>({
    type: "object",
    additionalProperties: { type: "string" },
    description:
      "What it was about: parameters of the path, and what was made or changed; `begun_at` of a call during which the service ended. Never a secret.",
  }),
  dry_run: Type.Boolean({ description: "Whether it was only asked what would be done." }),
  replayed: Type.Boolean({
    description: "Whether the answer was that of an earlier request with the same idempotency key.",
  }),
  key_id: NullableString("Id of the key; null where there was none, or an invalid one."),
  key_name: NullableString("Name of the key."),
  certificate: NullableString("SHA-256 fingerprint of the client certificate that stood for the key; else null."),
  remote_address: NullableString("Where it came from; null of what was no call."),
  request_id: NullableString("Request id; null of what was no call."),
  operation_id: NullableString("Id of the operation that it began or ended."),
  client_gone: Type.Boolean({ description: "Whether the client was gone before the answer." }),
  duration_ms: NullableInteger("How long it took; null where it has no length."),
  count: Type.Integer({ minimum: 1, description: "How many calls it stands for: refused ones are counted together." }),
  hash: Digest("SHA-256 of this entry without `hash`."),
});
export type AuditRecord = Static<typeof AuditRecord>;

export const AuditList = Type.Object({
  entries: Type.Array(AuditRecord, { description: "Newest first." }),
  ...ListShape,
  next_cursor: NullableString("Where older ones go on; null when there are none."),
  unreadable: Type.Integer({
    description: "Lines passed over because they are no entries: `steward audit verify` says what is wrong.",
  }),
});
export type AuditList = Static<typeof AuditList>;

const time = (description: string) => Type.String({ format: "date-time", description });

const AuditListQuery = Options({
  since: time("Only entries of then or later, RFC 3339."),
  until: time("Only entries before then, RFC 3339."),
  operation: Type.String({
    pattern: "^[A-Za-z][A-Za-z.]{0,63}$",
    description: "Only of this operation or event.",
    examples: ["restartService"],
  }),
  key_id: Type.String({ pattern: "^[0-9A-Za-z]{1,64}$", description: "Only of this key.", examples: ["4Kd93hGa"] }),
  outcome: Outcome,
  limit: Type.Integer({ ...auditListLimit, description: "Maximum entries." }),
  cursor: Type.String({
    pattern: "^[0-9]{1,15}-[0-9]{1,15}$",
    examples: ["3-4096"],
    description: "`next_cursor` of the page before.",
  }),
});
export type AuditListQuery = Static<typeof AuditListQuery>;

export const audit = {
  listAudit: {
    method: "GET",
    path: "/audit",
    tag: "Access",
    summary: "Who did what, and who was refused",
    description:
      "Every mutation with its outcome, every end of an operation, and refused calls. What is wrong with the log itself only `steward audit verify` looks for.",
    scope: "audit:read",
    effect: "read",
    query: AuditListQuery,
    response: AuditList,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
