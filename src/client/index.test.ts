import { expect, it } from "vitest";
import { ApiError, createClient } from "./index.ts";

/** A fetch that remembers what it was asked and answers what it is given. */
function fakeFetch(status: number, body: string, headers: Record<string, string> = {}) {
  const asked: { url: string; init: RequestInit | undefined }[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    asked.push({ url: url instanceof Request ? url.url : url.toString(), init });
    return Promise.resolve(new Response(body, { status, headers }));
  };
  return { fetch, asked };
}

it("the client puts path, query and body of each operation in their places", async () => {
  const { fetch, asked } = fakeFetch(500, "");
  const client = createClient({ url: "http://127.0.0.1:8470", key: "stw_x", fetch });
  await expect(client.restartService({ params: { name: "a b/../c" }, query: { dry_run: true } })).rejects.toThrow();
  await expect(client.createKey({ body: { name: "x", scopes: ["viewer"] } })).rejects.toThrow();
  await expect(client.getLiveness()).rejects.toThrow();
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

it.each([
  ["http://127.0.0.1:8470", "identity"],
  ["http://localhost", "identity"],
  ["https://[::1]:8470", "identity"],
  ["https://box.example.org", undefined],
  ["https://127.0.0.1.example.org", undefined],
])("the client lets %s not compress where that takes longer than sending", async (url, expected) => {
  const { fetch, asked } = fakeFetch(200, '{"status":"ok"}');
  await createClient({ url, fetch }).getLiveness();
  expect(new Headers(asked[0]?.init?.headers).get("Accept-Encoding") ?? undefined).toBe(expected);
});

it.each([
  ["\u001b]0;x\u0007", "it is not JSON"],
  ["null", "expected object"],
  ['{"services":{}}', "total: missing"],
  ['{"services":{},"total":1}', "services: expected array"],
  ['{"services":[{"name":1}],"total":1}', "services.0.description: missing"],
])("the client rejects the answer %j", async (body, why) => {
  const { fetch } = fakeFetch(200, body, { "X-Request-Id": "r-1" });
  const failure = createClient({ url: "http://h", fetch }).listServices();
  await expect(failure).rejects.toThrow(ApiError);
  await expect(failure).rejects.toMatchObject({
    code: "UNREADABLE",
    status: 200,
    message: `cannot read the answer: it is not an answer of Steward (${why})`,
    requestId: "r-1",
  });
});

it("the client accepts an answer of a later version", async () => {
  const { fetch } = fakeFetch(
    200,
    '{"status":"resting","version":"9","uptime_seconds":1,"components":{"cli":true,"ops":true,"llm":true,"security":true,"more":false},"new":{}}',
  );
  await expect(createClient({ url: "http://h", fetch }).getHealth()).resolves.toMatchObject({ status: "resting" });
});

it.each(["<html>", "", "null", '{"error":"x"}', '{"error":{"code":"TEAPOT"}}'])(
  "the client reports an answer of another service: %j",
  async (body) => {
    const { fetch } = fakeFetch(502, body);
    await expect(createClient({ url: "http://h", fetch }).getHealth()).rejects.toMatchObject({
      code: "UNREADABLE",
      status: 502,
    });
  },
);

it("the client reports deprecated operations, also when they fail", async () => {
  const notices: unknown[] = [];
  const ask = (status: number, headers: Record<string, string>) =>
    createClient({
      url: "http://h",
      fetch: fakeFetch(status, "{}", headers).fetch,
      onDeprecated: (each) => notices.push(each),
    })
      .getHealth()
      .catch(() => undefined);
  await ask(200, {});
  await ask(404, {
    Deprecation: "@1796083200",
    Sunset: "Sat, 01 Jan 2028 00:00:00 GMT",
    Link: '</api/v1/docs>; rel="deprecation", </api/v2/health>; rel="successor-version"',
  });
  await ask(200, { Deprecation: "@1", Sunset: "soon" });
  const operation = { method: "GET", path: "/health" };
  expect(notices).toEqual([
    { ...operation, sunset: new Date("2028-01-01T00:00:00Z"), successor: "/api/v2/health" },
    { ...operation, sunset: undefined, successor: undefined },
  ]);
});
