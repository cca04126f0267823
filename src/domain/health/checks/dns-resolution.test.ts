import { expect, it } from "vitest";
import { createFakeNameServers } from "../../../../test/fakes/name-servers.ts";
import { dnsResolutionCheck } from "./dns-resolution.ts";

const run = (servers: Parameters<typeof createFakeNameServers>[0], ignore: readonly string[] = []) =>
  dnsResolutionCheck({ servers: createFakeNameServers(servers) }).run({ ignore }, new AbortController().signal);

it("passes when all servers answer", async () => {
  expect(await run({ "192.0.2.1": undefined })).toMatchObject({
    status: "pass",
    details: { name: ".", servers: [{ address: "192.0.2.1", answered: true }] },
  });
});

it("warns when some are silent, and fails when all are", async () => {
  expect(await run({ "192.0.2.1": "ETIMEOUT", "192.0.2.2": undefined })).toMatchObject({ status: "warn" });
  expect(await run({ "192.0.2.1": "ETIMEOUT", "192.0.2.2": "ESERVFAIL" })).toMatchObject({
    status: "fail",
    message: "Names cannot be resolved: no answer from 192.0.2.1 (ETIMEOUT), 192.0.2.2 (ESERVFAIL)",
  });
});

it("is skipped without servers to ask", async () => {
  expect(await run({})).toMatchObject({ status: "skip" });
  expect(await run({ "192.0.2.1": "ETIMEOUT" }, ["192.0.2.1"])).toMatchObject({ status: "skip" });
});
