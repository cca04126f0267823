import type { Approval } from "#contract/approvals.ts";
import { redact } from "#domain/common/redact.ts";
import type { ApprovalParty, ApprovalRecord } from "#domain/ports/approvals.ts";
import { toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { isRecord } from "#kernel/values.ts";
import { needText } from "./needs.ts";

const secretName = /pass(?:word|phrase|wd)?$|secret|token|credential|api_?key|private_?key/i;
const secretLike = /[0-9A-Za-z]{43,}/g;
const hidden = "[secret]";

const shown = (text: string): string => redact(text).text.replaceAll(secretLike, hidden);

/** A value without what looks like a secret, by its name or by its form. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === "string") return shown(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === "string" && secretName.test(name) ? hidden : withoutSecrets(member),
    ]),
  );
}

export const argumentsOf = (input: object): Readonly<Record<string, unknown>> => {
  const { query, ...rest } = input as Readonly<Record<string, unknown>>;
  const { dry_run: _, ...others } = isRecord(query) ? query : {};
  return withoutSecrets({ ...rest, ...(Object.keys(others).length > 0 && { query: others }) }) as Readonly<
    Record<string, unknown>
  >;
};

const partyOf = ({ keyId, keyName }: Pick<ApprovalParty, "keyId" | "keyName">) => ({ key_id: keyId, name: keyName });

/** @param result in the place of the one that is kept, which has no secrets. */
export const toApproval = (record: ApprovalRecord, result: unknown = record.result): Approval => ({
  id: record.id,
  status: record.status,
  operation: record.operation,
  arguments: argumentsOf(record.input),
  scopes: [...new Set(record.needs.map((need) => needText({ resource: undefined, ...need })))],
  plan: record.plan,
  plan_digest: record.digest,
  changed: record.changed,
  proposer: partyOf(record.proposer),
  reason: record.reason,
  created_at: toTimestamp(record.createdAt),
  expires_at: toTimestamp(record.expiresAt),
  approvers: record.required,
  approvals: record.approvals.map((each) => ({
    ...partyOf(each),
    reason: each.reason,
    approved_at: toTimestamp(each.at),
  })),
  decided_by: record.decidedBy && partyOf(record.decidedBy),
  decided_at: toNullableTimestamp(record.decidedBy?.at ?? null),
  decision: record.decidedBy?.reason ?? null,
  finished_at: toNullableTimestamp(record.finishedAt),
  operation_id: record.operationId,
  result,
  error: record.error,
  revision: record.revision,
});
