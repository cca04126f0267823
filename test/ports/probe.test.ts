import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createEndpointProbe } from "#adapters/endpoint/index.ts";
import { createPackageManagerProbe } from "#adapters/packages/index.ts";
import type { Probe } from "#domain/ports/probe.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakeProbe } from "../fakes/probe.ts";

const { signal } = new AbortController();
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function listen(status: number): Promise<string> {
  const server = createServer((request, reply) => {
    reply.statusCode = request.url === "/livez" ? status : 404;
    reply.end();
  });
  stops.push(() => server.close());
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
  );
}

const answers = (exitCode: number) => () =>
  Promise.resolve({ exitCode, stdout: "", stderr: "broken\n", truncated: false });

describe.each([
  ["fake", () => Promise.resolve(createFakeProbe().probe)],
  ["own address", async () => createEndpointProbe({ url: await listen(200), tls: undefined })],
  ["package manager", () => Promise.resolve(createPackageManagerProbe({ exec: answers(0), clock: createFakeClock() }))],
] as const)("probe: %s", (_, make: () => Promise<Probe>) => {
  it("finds a component well", async () => {
    expect(await (await make())(signal)).toEqual({ healthy: true, expected: true });
  });
});

describe("probes that find trouble", () => {
  it("say why", async () => {
    const probe = createEndpointProbe({ url: await listen(503), tls: undefined });
    expect(await probe(signal)).toEqual({ healthy: false, expected: true, reason: "own address answers 503" });
    expect(await createPackageManagerProbe({ exec: answers(1), clock: createFakeClock() })(signal)).toEqual({
      healthy: false,
      expected: true,
      reason: expect.stringMatching(/^\w+ does not answer: broken$/),
    });
  });

  it("fail when nothing answers", async () => {
    await expect(createEndpointProbe({ url: "http://127.0.0.1:1", tls: undefined })(signal)).rejects.toThrow(
      /ECONNREFUSED/,
    );
  });
});

describe("the probe of the package manager", () => {
  it("asks again after ten minutes, and after each failure", async () => {
    const clock = createFakeClock();
    const codes = [1, 0, 1, 0];
    const probe = createPackageManagerProbe({ exec: () => answers(codes.shift() ?? 1)(), clock });
    const isHealthy = async (): Promise<boolean> => (await probe(signal)).healthy;
    expect([await isHealthy(), await isHealthy(), await isHealthy()]).toEqual([false, true, true]);
    await clock.advance(10 * 60_000 - 1);
    expect(await isHealthy()).toBe(true);
    await clock.advance(1);
    expect([await isHealthy(), await isHealthy()]).toEqual([false, true]);
    expect(codes).toEqual([]);
  });
});
