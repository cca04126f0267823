import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createComponentProbe, type ProbeTarget, type ReadUnit } from "#adapters/component-probe/index.ts";
import { createEndpointProbe } from "#adapters/endpoint/index.ts";
import { createPackageManagerProbe } from "#adapters/packages/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { type CaptureServer, withCaptureServer } from "./support/capture-server.ts";
import { directoryWith, writeFiles } from "./support/directories.ts";
import { printing } from "./support/programs.ts";

const { signal } = new AbortController();
const healthy = { healthy: true, expected: true };
const unhealthy = (reason: unknown) => ({ healthy: false, expected: true, reason });
const timeoutMs = 20_000;

const directory = directoryWith();
const caFile = join(directory, "ca.pem");
let pair: { readonly cert: string; readonly key: string };
beforeAll(async () => {
  pair = await selfSignedPair({ stateDir: directory, now: Date.now() });
  writeFiles(directory, { "ca.pem": pair.cert });
});

const units = createFakeUnits([
  { name: "up.service", activeState: "active", subState: "running" },
  { name: "broken.service", activeState: "failed", subState: "failed", result: "exit-code" },
]);
const find = (target: ProbeTarget, readUnit: ReadUnit = units.read): Promise<unknown> =>
  createComponentProbe({ target, readUnit })(signal).catch((error: unknown) =>
    error instanceof Error ? error.message : error,
  );

const answering = (status: number, test: (server: CaptureServer) => Promise<void>, tls?: typeof pair) =>
  withCaptureServer(
    (_, response) => response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end("x"),
    test,
    tls,
  );

/** Runs the test with a port that takes connections and says nothing. */
async function withPort(test: (port: number) => Promise<void>): Promise<void> {
  const server = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await test(typeof address === "object" && address !== null ? address.port : 0);
  server.close();
}

describe("a component that is an address", () => {
  it.each<[number, readonly number[] | undefined, boolean]>([
    [200, undefined, true],
    [299, undefined, true],
    [302, undefined, false],
    [404, undefined, false],
    [500, undefined, false],
    [401, [200, 401], true],
    [204, [200], false],
  ])("and answers %s where %j is wanted is healthy: %s", async (status, statuses, isHealthy) => {
    await answering(status, async ({ url, requests }) => {
      const found = await find({ kind: "http", url: `${url}/page?x=1`, timeoutMs, ...(statuses && { statuses }) });
      expect(found).toEqual(isHealthy ? healthy : unhealthy(expect.stringContaining(`answers ${status}`)));
      expect(requests).toMatchObject([{ method: "GET", path: "/page?x=1" }]);
    });
  });

  it("fails where nobody answers, or not in time", async () => {
    await withPort(async (port) => {
      const late = { kind: "http", url: `http://127.0.0.1:${port}/`, timeoutMs: 50 } as const;
      expect(await find(late)).toBe("no answer within 0.05 s");
    });
    // A name with several addresses: each is said.
    for (const url of ["http://127.0.0.1:1/", "http://localhost:1/"])
      expect(await find({ kind: "http", url, timeoutMs })).toMatch(/ECONNREFUSED/);
  });

  it("is healthy over TLS that can be trusted, as long as its certificate is good for", async () => {
    await answering(
      200,
      async ({ url }) => {
        const target = { kind: "http", url, timeoutMs, caFile } as const;
        for (const more of [{}, { certificateDays: 30 }]) expect(await find({ ...target, ...more })).toEqual(healthy);
        expect(await find({ ...target, certificateDays: 398 })).toEqual(
          unhealthy(expect.stringMatching(/^its certificate ends on \d{4}-\d\d-\d\d$/)),
        );
        expect(await find({ kind: "http", url, timeoutMs })).toMatch(/self-signed|unable to verify/i);
      },
      pair,
    );
  });

  it.each(["http://169.254.169.254/", "http://[fe80::1]/", "http://2852039166/"])(
    "is never a link-local one: %s [request-forgery]",
    async (url) => {
      expect(await find({ kind: "http", url, timeoutMs })).toMatch(/link-local/);
    },
  );
});

it("a collector is healthy when it takes traces, and Prometheus when it says so", async () => {
  await answering(200, async ({ url, requests }) => {
    expect(await find({ kind: "collector", url: `${url}/`, timeoutMs })).toEqual(healthy);
    expect(await find({ kind: "prometheus", url: `${url}/prometheus/`, timeoutMs })).toEqual(healthy);
    expect(requests).toMatchObject([
      { method: "POST", path: "/v1/traces", body: { resourceSpans: [] } },
      { method: "GET", path: "/prometheus/-/healthy" },
    ]);
  });
  await answering(503, async ({ url }) => {
    expect(await find({ kind: "collector", url, timeoutMs })).toEqual(unhealthy("it answers 503"));
  });
});

it("a port is healthy when it takes connections, and given up with the probe", async () => {
  const tcp = (host: string, port: number) => find({ kind: "tcp", host, port, timeoutMs });
  await withPort(async (port) => expect(await tcp("127.0.0.1", port)).toEqual(healthy));
  for (const host of ["127.0.0.1", "localhost"]) expect(await tcp(host, 1)).toMatch(/ECONNREFUSED/);
  expect(await tcp("169.254.169.254", 80)).toMatch(/link-local/);
  const target = { kind: "tcp", host: "127.0.0.1", port: 1, timeoutMs } as const;
  const probe = createComponentProbe({ target, readUnit: units.read });
  await expect(probe(AbortSignal.abort())).rejects.toThrow("given up");
});

describe("a component that is a unit", () => {
  it.each([
    ["active", "running", true],
    ["active", "exited", true],
    ["reloading", "reload", true],
    ["activating", "start", true],
    ["activating", "auto-restart", false],
    ["inactive", "dead", false],
    ["deactivating", "stop", false],
    ["failed", "failed", false],
  ])("and is %s (%s) is healthy: %s", async (activeState, subState, isHealthy) => {
    const read: ReadUnit = () => Promise.resolve({ loadState: "loaded", activeState, subState, result: "success" });
    expect(await find({ kind: "unit", unit: "web.service" }, read)).toMatchObject({ healthy: isHealthy });
  });

  it.each([
    ["broken.service", "broken.service is failed (failed): exit-code"],
    ["nowhere.service", "there is no unit nowhere.service"],
  ])("and is unhealthy says why: %s", async (unit, reason) => {
    expect(await find({ kind: "unit", unit })).toMatchObject({ reason });
  });
});

it("a name is healthy while it has an address", async () => {
  const dns = (hostname: string) => find({ kind: "dns", hostname, timeoutMs });
  expect(await dns("localhost")).toEqual(healthy);
  // Never a name, RFC 6761.
  expect(await dns("nothing.invalid")).toMatchObject({ healthy: false, reason: expect.stringMatching(/^no address/) });
});

it("the probe of the service's own address says what it answers, and fails when nothing does", async () => {
  for (const [status, expected] of [
    [200, healthy],
    [503, unhealthy("own address answers 503")],
  ] as const)
    await answering(status, async ({ url, requests }) => {
      expect(await createEndpointProbe({ url, tls: undefined })(signal)).toEqual(expected);
      expect(requests).toMatchObject([{ path: "/livez" }]);
    });
  const nothing = createEndpointProbe({ url: "http://127.0.0.1:1", tls: undefined });
  await expect(nothing(signal)).rejects.toThrow(/ECONNREFUSED/);
});

it("the probe of the package manager asks again after ten minutes, and after each failure, and says why", async () => {
  const clock = createFakeClock();
  const codes = [1, 0, 1, 0];
  const answer = () => printing("", { exitCode: codes.shift() ?? 1, stderr: "broken\n" });
  const probe = createPackageManagerProbe({ exec: (argv) => answer()(argv), clock });
  expect(await probe(signal)).toEqual(unhealthy(expect.stringMatching(/^\w+ does not answer: broken$/)));
  expect([await probe(signal), await probe(signal)]).toEqual([healthy, healthy]);
  await clock.advance(10 * 60_000 - 1);
  expect(await probe(signal)).toEqual(healthy);
  await clock.advance(1);
  expect([(await probe(signal)).healthy, (await probe(signal)).healthy]).toEqual([false, true]);
  expect(codes).toEqual([]);
});
