import { expect, it } from "vitest";
import { ApiError, createClient } from "./index.ts";

/** A fetch that remembers what it was asked and answers what it is told. */
function fakeFetch(status: number, body: string, headers: Record<string, string> = {}) {
  const asked: { url: string; init: RequestInit | undefined }[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    asked.push({ url: url instanceof Request ? url.url : url.toString(), init });
    return Promise.resolve(new Response(body, { status, headers }));
  };
  return { fetch, asked };
}

it("makes one method for each operation, with path, query and body where they belong", async () => {
  const { fetch, asked } = fakeFetch(200, '{"success":true}');
  const client = createClient({ url: "http://127.0.0.1:8470", key: "stw_x", fetch });
  await client.restartService({ params: { name: "a b/../c" }, query: { dry_run: true } });
  await client.createKey({ body: { name: "x", scopes: ["viewer"] } });
  await client.getLiveness();
  expect(asked.map(({ url, init }) => [init?.method, url, init?.body])).toEqual([
    ["POST", "http://127.0.0.1:8470/api/v1/system/services/a%20b%2F..%2Fc/restart?dry_run=true", undefined],
    ["POST", "http://127.0.0.1:8470/api/v1/auth/keys", '{"name":"x","scopes":["viewer"]}'],
    ["GET", "http://127.0.0.1:8470/livez", undefined],
  ]);
  expect(asked[1]?.init).toMatchObject({
    redirect: "error",
    headers: { "X-API-Key": "stw_x", "Content-Type": "application/json" },
  });
});

it("gives text where the operation answers text", async () => {
  const { fetch } = fakeFetch(200, "svc_active_connections 1\n");
  expect(await createClient({ url: "http://h", fetch }).getMetrics()).toBe("svc_active_connections 1\n");
});

it("throws the error of the contract, with everything that it says", async () => {
  const body = JSON.stringify({ error: { code: "NOT_FOUND", message: "cannot find it", details: { a: 1 } } });
  const { fetch } = fakeFetch(404, body, { "X-Request-Id": "r-1" });
  const failure = createClient({ url: "http://h", fetch }).getHealth();
  await expect(failure).rejects.toThrow(ApiError);
  await expect(failure).rejects.toMatchObject({
    code: "NOT_FOUND",
    status: 404,
    message: "cannot find it",
    details: { a: 1 },
    requestId: "r-1",
  });
});

it.each(["<html>", "", "null", '{"error":"x"}', '{"error":{"code":"TEAPOT"}}'])(
  "says so when something else answers: %j",
  async (body) => {
    const { fetch } = fakeFetch(502, body);
    await expect(createClient({ url: "http://h", fetch }).getHealth()).rejects.toMatchObject({
      code: "UNREADABLE",
      status: 502,
    });
  },
);
