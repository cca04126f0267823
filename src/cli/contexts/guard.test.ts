import { beforeEach, expect, it } from "vitest";
import { beginOperation, createClient } from "#client/index.ts";
import { PlanShown, planningFetch } from "./guard.ts";

const plan = { dry_run: true, steps: ["do it"], units: [], packages: [], bytes: 0, requires_reboot: false };
let asked: { readonly method: string; readonly url: string; readonly headers: Headers }[] = [];
beforeEach(() => {
  asked = [];
});

const fetch = planningFetch((input, init = {}) => {
  const url = String(input instanceof Request ? input.url : input);
  asked.push({ method: init.method ?? "GET", url, headers: new Headers(init.headers) });
  const isRefused = url.includes("refused");
  const answer = url.includes("dry_run=true") ? plan : { services: [], total: 0 };
  const body = isRefused ? { error: { code: "NOT_FOUND", message: "not here" } } : answer;
  return Promise.resolve(Response.json(body, { status: isRefused ? 404 : 200 }));
});
const options = { url: "http://127.0.0.1:8470", key: "k", fetch };
const client = createClient(options);

it("a planning client sends reads and dry runs", async () => {
  await client.listServices();
  await client.restartService({ params: { name: "nginx" }, query: { dry_run: true } });
  expect(asked.map(({ method, url }) => `${method} ${new URL(url).pathname}${new URL(url).search}`)).toEqual([
    "GET /api/v1/system/services",
    "POST /api/v1/system/services/nginx/restart?dry_run=true",
  ]);
});

it.each([
  ["a call", () => client.restartService({ params: { name: "nginx" } })],
  [
    "one that says that it is none",
    () => client.restartService({ params: { name: "nginx" }, query: { dry_run: false } }),
  ],
  ["one that removes something", () => client.revokeKey({ params: { id: "abc" } })],
  ["an operation that outlives its request", () => beginOperation(options, "applyUpdates", { body: {} }, "key-1")],
])("a planning client makes a dry run of %s that would change the host", async (_, call) => {
  const error = await call().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PlanShown);
  expect(error).toMatchObject({ plan: { steps: ["do it"] } });
  expect(asked).toHaveLength(1);
  const [only] = asked;
  expect(new URL(only?.url ?? "").searchParams.get("dry_run")).toBe("true");
  expect([only?.headers.get("Prefer"), only?.headers.get("Idempotency-Key")]).toEqual([null, null]);
});

it("a planning client shows only plans, and throws the error of a dry run", async () => {
  await expect(client.restartService({ params: { name: "refused" } })).rejects.toThrow("not here");
  const careless = planningFetch(() => Promise.resolve(Response.json({ success: true })));
  await expect(createClient({ ...options, fetch: careless }).restartService({ params: { name: "x" } })).rejects.toThrow(
    /the service answered a dry run with something else/,
  );
});
