import type { Approval } from "#contract/approvals.ts";
import { canWait, type Operation } from "#contract/operation.ts";
import { isGateable, scopes } from "#contract/scopes.ts";
import type { ApprovalPolicy } from "#domain/access/approval-rules.ts";
import { send, sessionOf, type TestReply, type TestRequest } from "./harness.ts";
import { type MutableService, mutations } from "./mutations.ts";

export const hourMs = 3_600_000;
export const policy = (rest: Partial<ApprovalPolicy> = {}): ApprovalPolicy => ({
  requireFor: [],
  approvers: 1,
  expireMs: hourMs,
  ...rest,
});
export const approvalOf = ({ json }: TestReply): Approval => json as Approval;
export const detailsOf = ({ json }: TestReply) =>
  (json as { error?: { details?: Readonly<Record<string, unknown>> } }).error?.details ?? {};
export const all = scopes.filter((each) => each !== "windows:override");

export const decide = (
  { id }: Pick<Approval, "id">,
  doing: "approve" | "deny" | "cancel",
  key: string,
  rest: Partial<TestRequest> = {},
): TestRequest => ({ method: "POST", path: `/api/v1/approvals/${id}/${doing}`, key, ...rest });
export const look = async (
  service: MutableService,
  { id }: Pick<Approval, "id">,
  key = service.admin,
): Promise<Approval> => approvalOf(await send(service, { path: `/api/v1/approvals/${id}`, key }));

/** All that a mutation may take, beside what every key has. */
const takenBy = (name: string, { scope, alsoNeeds = [], doesMore }: Operation): readonly string[] => [
  ...new Set([
    ...[scope, ...alsoNeeds],
    ...(name === "cancelOperation" ? ["updates:apply"] : []),
    ...(doesMore === "fix" ? ["system:reboot", "services:restart", "health:fix"] : []),
  ]),
];

/** The rows that can wait for approval. */
export const waiting = mutations.filter(([, operation]) => canWait(operation));

/** What a mutation takes that may be proposed. */
export const gateableOf = (name: string, operation: Operation): readonly string[] =>
  takenBy(name, operation).filter((each) => scopes.some((known) => known === each && isGateable(known)));

/** Every scope, of which those that a mutation takes may only be proposed. */
export const proposingScopes = (name: string, operation: Operation): readonly string[] => {
  const gateable = gateableOf(name, operation);
  return scopes.map((each) => (gateable.includes(each) ? `propose:${each}` : each));
};

type Credential = Pick<TestRequest, "key" | "headers">;

/** What is sent by a key, or by a token, an elevated session or a read-only one of it. */
export function credentialOf(
  { service, clock }: Pick<MutableService, "service" | "clock">,
  kind: "key" | "token" | "session" | "read-only session",
  key: string,
  granted: readonly string[] = all,
): Credential {
  if (kind === "key") return { key };
  if (kind !== "token") return { headers: sessionOf({ service }, key, kind === "session") };
  const token = service.keyring.createToken(key.slice(4, 12), granted, clock.now() + hourMs / 2);
  return { headers: { authorization: `Bearer ${token}` } };
}

/** Sends a call, and with the plan that it is answered with where a session has to have seen that. */
export async function sendShown(service: MutableService, request: TestRequest): Promise<TestReply> {
  const reply = await send(service, request);
  if (detailsOf(reply)["reason"] !== "plan_required") return reply;
  const { plan_token: token } = detailsOf(reply)["plan"] as { plan_token: string };
  return send(service, { ...request, headers: { ...request.headers, "x-plan-token": token } });
}

export const approveBy = (
  service: MutableService,
  { id }: Pick<Approval, "id">,
  credential: Credential,
): Promise<TestReply> => sendShown(service, { method: "POST", path: `/api/v1/approvals/${id}/approve`, ...credential });
