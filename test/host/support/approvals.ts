import type { Approval } from "#contract/approvals.ts";
import { apiBase } from "#contract/limits.ts";

type Headers = Readonly<Record<string, string>>;

interface Sent {
  readonly body?: object;
  readonly headers?: Headers;
}

/** Answers of a service whose calls may wait for approval: the client that we generate takes them for answers of the operation. */
export function approvalsOf(url: () => string) {
  const ask = async (key: string, method: "GET" | "POST", path: string, { body, headers = {} }: Sent = {}) => {
    const reply = await fetch(`${url()}${apiBase}${path}`, {
      method,
      headers: { "X-API-Key": key, ...headers, ...(body && { "Content-Type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: reply.status, json: (await reply.json()) as Approval & { readonly error?: object } };
  };
  const approve = (key: string, { id }: Approval, headers: Headers = {}) =>
    ask(key, "POST", `/approvals/${id}/approve`, { body: {}, headers });
  return { ask, approve };
}
