import { expect, it } from "vitest";
import { createFakeNameServers } from "../../../../test/fakes/name-servers.ts";
import { dnsResolutionCheck } from "./dns-resolution.ts";

const run = (
  servers: Parameters<typeof createFakeNameServers>[0],
  ignore: readonly string[] = [],
  settings: { readonly isIsolated?: boolean } = {},
) =>
  dnsResolutionCheck({ servers: createFakeNameServers(servers) }).run(
    { ignore, ...settings },
    new AbortController().signal,
  );

it("dns_resolution passes when all servers answer, warns when some are silent, and fails when all are", async () => {
  expect(await run({ "192.0.2.1": undefined })).toMatchObject({
    status: "pass",
    details: { name: ".", servers: [{ address: "192.0.2.1", answered: true }] },
  });
  expect(await run({ "192.0.2.1": "ETIMEOUT", "192.0.2.2": undefined })).toMatchObject({ status: "warn" });
  expect(await run({ "192.0.2.1": "ETIMEOUT", "192.0.2.2": "ESERVFAIL" })).toMatchObject({
    status: "fail",
    message: "Names cannot be resolved: no answer from 192.0.2.1 (ETIMEOUT), 192.0.2.2 (ESERVFAIL)",
  });
});

it("dns_resolution skips without servers, and on an isolated host when none answers", async () => {
  expect(await run({})).toMatchObject({ status: "skip" });
  expect(await run({ "192.0.2.1": "ETIMEOUT" }, ["192.0.2.1"])).toMatchObject({ status: "skip" });
  const silent = { "192.0.2.1": "ETIMEOUT", "192.0.2.2": "ESERVFAIL" };
  expect(await run(silent, [], { isIsolated: true })).toMatchObject({
    status: "skip",
    message: "No name server answers, as expected on an isolated host",
    details: { servers: [{ code: "ETIMEOUT" }, { code: "ESERVFAIL" }] },
  });
  expect(await run({ ...silent, "192.0.2.3": undefined }, [], { isIsolated: true })).toMatchObject({ status: "warn" });
});
