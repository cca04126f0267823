import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, ListShape, NullableInteger, NullableString, Options, Timestamp } from "./schema.ts";

/** `ok`: done. `refused`: by the service, so nothing was done. `failed`: started without success. */
export const auditOutcomes = ["ok", "refused", "failed"] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

export const auditListLimit = { minimum: 1, maximum: 1000, default: 100 } as const;

const Digest = (description: string) => Type.String({ pattern: "^[0-9a-f]{64}$", description });
const Outcome = Choice(
  auditOutcomes,
  "`refused`: the service refused the call, and nothing was done. `failed`: an error occurred, or the answer says `success: false`.",
);

/** An entry as in the file, member by member. docs/audit.md defines `hash`. */
export const AuditRecord = Type.Object({
  seq: Type.Integer({ minimum: 1, description: "Sequence number of the entry, from 1 without gaps." }),
  prev: Digest("`hash` of the previous entry; 64 zeros in the first."),
  time: Timestamp("When the call was done or refused."),
  operation: Type.String({
    description:
      "Name of the operation, as in the reference. Names with a dot are events, such as `operation.ended`, `service.started`, `calls.refused` and `audit.pruned`.",
  }),
  outcome: Outcome,
  status: NullableInteger("HTTP status of the answer; null for events, and for a call during which the service ended."),
  error: NullableString("Error code; null if there was no error."),
  method: NullableString("HTTP method; null for events."),
  path: NullableString("Path template; null for a path that does not exist, and for events."),
  target: Type.Unsafe<Readonly<Record<string, string>>>({
    type: "object",
    additionalProperties: { type: "string" },
    description:
      "What the call was about: parameters of the path, and what was created or changed; `begun_at` for a call during which the service ended. Never contains a secret.",
  }),
  dry_run: Type.Boolean({ description: "Whether the call was a dry run." }),
  replayed: Type.Boolean({
    description: "Whether the answer repeats that of an earlier request with the same idempotency key.",
  }),
  key_id: NullableString("Id of the key; null if there was none or it was invalid."),
  key_name: NullableString("Name of the key."),
  certificate: NullableString("SHA-256 fingerprint of the client certificate that was used as the key; else null."),
  remote_address: NullableString("Address of the client; null for events."),
  request_id: NullableString("Request id; null for events."),
  operation_id: NullableString("Id of the operation that was started or ended."),
  client_gone: Type.Boolean({ description: "Whether the client disconnected before the answer." }),
  duration_ms: NullableInteger("Duration in milliseconds; null if it has none."),
  count: Type.Integer({
    minimum: 1,
    description: "Number of calls that the entry stands for: refused calls are counted together.",
  }),
  hash: Digest("SHA-256 of this entry without `hash`."),
});
export type AuditRecord = Static<typeof AuditRecord>;

export const AuditList = Type.Object({
  entries: Type.Array(AuditRecord, { description: "Newest first." }),
  ...ListShape,
  next_cursor: NullableString("`cursor` of the next page with older entries; null if there are none."),
  unreadable: Type.Integer({
    description: "Lines skipped because they are not valid entries; `steward audit verify` says what is wrong.",
  }),
});
export type AuditList = Static<typeof AuditList>;

const time = (description: string) => Type.String({ format: "date-time", description });

const AuditListQuery = Options({
  since: time("Only entries at this time or later, RFC 3339."),
  until: time("Only entries before this time, RFC 3339."),
  operation: Type.String({
    pattern: "^[A-Za-z][A-Za-z.]{0,63}$",
    description: "Only entries of this operation or event.",
    examples: ["restartService"],
  }),
  key_id: Type.String({
    pattern: "^[0-9A-Za-z]{1,64}$",
    description: "Only entries of this key.",
    examples: ["4Kd93hGa"],
  }),
  target: Type.String({
    minLength: 1,
    maxLength: 256,
    description:
      "Only entries with this value in `target`: a unit, an id, a package. A service's entries are also found where the call left out `.service`.",
    examples: ["nginx.service"],
  }),
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
      "Every mutation with its outcome, every end of an operation, and refused calls. This call does not verify the log itself: `steward audit verify` does.",
    scope: "audit:read",
    effect: "read",
    query: AuditListQuery,
    response: AuditList,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
