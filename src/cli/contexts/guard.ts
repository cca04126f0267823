import { parseJson } from "#client/answer.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation, Plan } from "#contract/operation.ts";
import { asPlan } from "../core/plan.ts";

export class PlanShown extends Error {
  override readonly name = "PlanShown";
  readonly plan: Plan;

  constructor(plan: Plan) {
    super("nothing was done");
    this.plan = plan;
  }
}

const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

const rows = Object.values<Operation>(operations).map((operation) => {
  const path = `${operation.base === "root" ? "" : apiBase}${operation.path}`;
  const parts = path.split(/\{\w+\}/).map(literal);
  // Behind a reverse proxy the address of a service may have a path of its own.
  return { operation, pattern: new RegExp(`${parts.join("[^/]+")}$`) };
});

function changes(method: string, path: string): boolean {
  const found = rows.find(({ operation, pattern }) => operation.method === method && pattern.test(path));
  return found?.operation.effect !== "read";
}

/** `fetch` that changes nothing: what would is asked for as a dry run. @throws PlanShown with the plan. */
export function planningFetch(inner: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const method = (init.method ?? "GET").toUpperCase();
    if (!changes(method, url.pathname) || url.searchParams.get("dry_run") === "true") return inner(input, init);
    url.searchParams.set("dry_run", "true");
    const headers = new Headers(init.headers);
    // A dry run is not an operation that could be waited for, and uses no idempotency key.
    headers.delete("Prefer");
    headers.delete("Idempotency-Key");
    const answer = await inner(url, { ...init, headers });
    if (!answer.ok) return answer;
    throw new PlanShown(asPlan(parseJson(await answer.text(), answer)));
  };
}
