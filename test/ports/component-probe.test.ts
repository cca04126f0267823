import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createComponentProbe, type ProbeTarget, type ReadUnit } from "#adapters/component-probe/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { createFakeProbe } from "../fakes/probe.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { type CaptureServer, withCaptureServer } from "./support/capture-server.ts";

const { signal } = new AbortController();
const well = { healthy: true, expected: true };
const timeoutMs = 2_000;

let folder: string;
let pair: { readonly cert: string; readonly key: string };
let caFile: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "steward-probe-"));
  pair = await selfSignedPair({ stateDir: folder, now: Date.now() });
  caFile = join(folder, "ca.pem");
  writeFileSync(caFile, pair.cert);
});
afterAll(() => rmSync(folder, { recursive: true }));

const units = createFakeUnits([
  { name: "up.service", activeState: "active", subState: "running" },
  { name: "broken.service", activeState: "failed", subState: "failed", result: "exit-code" },
]);
const probeOf = (target: ProbeTarget, readUnit: ReadUnit = units.read) => createComponentProbe({ target, readUnit });
const find = (target: ProbeTarget): Promise<unknown> =>
  probeOf(target)(signal).catch((error: unknown) => (error instanceof Error ? error.message : error));

const answering = (
  status: number,
  test: (server: CaptureServer) => Promise<void>,
  tls?: { readonly cert: string; readonly key: string },
) =>
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

it("a fake finds what it is told to", async () => {
  expect(await createFakeProbe(well).probe(signal)).toEqual(well);
});

describe("an address", () => {
  it.each([200, 204, 299])("that answers %s is well", async (status) => {
    await answering(status, async ({ url }) => expect(await find({ kind: "http", url, timeoutMs })).toEqual(well));
  });

  it.each([302, 404, 500])("that answers %s is not", async (status) => {
    await answering(status, async ({ url, requests }) => {
      expect(await find({ kind: "http", url: `${url}/page?x=1`, timeoutMs })).toEqual({
        healthy: false,
        expected: true,
        reason: `it answers ${status}`,
      });
      expect(requests).toMatchObject([{ method: "GET", path: "/page?x=1" }]);
    });
  });

  it("is well with the statuses that are wanted of it, and no other", async () => {
    await answering(401, async ({ url }) => {
      expect(await find({ kind: "http", url, timeoutMs, statuses: [200, 401] })).toEqual(well);
    });
    await answering(204, async ({ url }) => {
      expect(await find({ kind: "http", url, timeoutMs, statuses: [200] })).toMatchObject({ healthy: false });
    });
  });

  it("that does not answer in time is not well", async () => {
    await withPort(async (port) => {
      const url = `http://127.0.0.1:${port}/`;
      expect(await find({ kind: "http", url, timeoutMs: 50 })).toBe("no answer within 0.05 s");
    });
  });

  it("that nobody answers at is not well", async () => {
    expect(await find({ kind: "http", url: "http://127.0.0.1:1/", timeoutMs })).toMatch(/ECONNREFUSED/);
    // A name with several addresses: each is said.
    expect(await find({ kind: "http", url: "http://localhost:1/", timeoutMs })).toMatch(/ECONNREFUSED/);
  });

  it("is well over TLS that can be trusted, as long as its certificate is good for", async () => {
    await answering(
      200,
      async ({ url }) => {
        expect(await find({ kind: "http", url, timeoutMs, caFile })).toEqual(well);
        expect(await find({ kind: "http", url, timeoutMs, caFile, certificateDays: 30 })).toEqual(well);
        expect(await find({ kind: "http", url, timeoutMs, caFile, certificateDays: 398 })).toMatchObject({
          healthy: false,
          reason: expect.stringMatching(/^its certificate ends on \d{4}-\d\d-\d\d$/),
        });
        expect(await find({ kind: "http", url, timeoutMs })).toMatch(/self-signed|unable to verify/i);
      },
      pair,
    );
  });

  it.each(["http://169.254.169.254/", "http://[fe80::1]/", "http://2852039166/"])("is never %s", async (url) => {
    expect(await find({ kind: "http", url, timeoutMs })).toMatch(/link-local/);
  });
});

describe("a collector", () => {
  it("is well when it takes traces", async () => {
    await answering(200, async ({ url, requests }) => {
      expect(await find({ kind: "collector", url: `${url}/`, timeoutMs })).toEqual(well);
      expect(requests).toMatchObject([{ method: "POST", path: "/v1/traces", body: { resourceSpans: [] } }]);
    });
    await answering(503, async ({ url }) => {
      expect(await find({ kind: "collector", url, timeoutMs })).toMatchObject({ reason: "it answers 503" });
    });
  });
});

describe("Prometheus", () => {
  it("is well when it says so", async () => {
    await answering(200, async ({ url, requests }) => {
      expect(await find({ kind: "prometheus", url: `${url}/prometheus/`, timeoutMs })).toEqual(well);
      expect(requests).toMatchObject([{ method: "GET", path: "/prometheus/-/healthy" }]);
    });
  });
});

describe("a port", () => {
  it("is well when it takes connections", async () => {
    await withPort(async (port) => {
      expect(await find({ kind: "tcp", host: "127.0.0.1", port, timeoutMs })).toEqual(well);
    });
    expect(await find({ kind: "tcp", host: "127.0.0.1", port: 1, timeoutMs })).toMatch(/ECONNREFUSED/);
    expect(await find({ kind: "tcp", host: "localhost", port: 1, timeoutMs })).toMatch(/ECONNREFUSED/);
    expect(await find({ kind: "tcp", host: "169.254.169.254", port: 80, timeoutMs })).toMatch(/link-local/);
  });

  it("is given up when the probe is", async () => {
    const probe = probeOf({ kind: "tcp", host: "127.0.0.1", port: 1, timeoutMs });
    await expect(probe(AbortSignal.abort())).rejects.toThrow("given up");
  });
});

describe("a unit", () => {
  it.each([
    ["active", "running", true],
    ["active", "exited", true],
    ["reloading", "reload", true],
    ["activating", "start", true],
    ["activating", "auto-restart", false],
    ["inactive", "dead", false],
    ["deactivating", "stop", false],
    ["failed", "failed", false],
  ])("that is %s (%s) is well: %s", async (activeState, subState, healthy) => {
    const read: ReadUnit = () => Promise.resolve({ loadState: "loaded", activeState, subState, result: "success" });
    expect(await probeOf({ kind: "unit", unit: "web.service" }, read)(signal)).toMatchObject({ healthy });
  });

  it("that is not well says why", async () => {
    expect(await find({ kind: "unit", unit: "up.service" })).toEqual(well);
    expect(await find({ kind: "unit", unit: "broken.service" })).toMatchObject({
      reason: "broken.service is failed (failed): exit-code",
    });
    expect(await find({ kind: "unit", unit: "nowhere.service" })).toMatchObject({
      reason: "there is no unit nowhere.service",
    });
  });
});

describe("a name", () => {
  const dns = (hostname: string) => find({ kind: "dns", hostname, timeoutMs });

  it("is well while it has an address", async () => {
    expect(await dns("localhost")).toEqual(well);
  });

  it("is unhealthy without one", async () => {
    // Never a name, RFC 6761.
    expect(await dns("nothing.invalid")).toMatchObject({
      healthy: false,
      reason: expect.stringMatching(/^no address (for nothing\.invalid|within 2 s)$/),
    });
  });
});
