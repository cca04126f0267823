import { describe, expect, it } from "vitest";
import type { NetworkState } from "#contract/network.ts";
import { fakeLink, fakeRoute } from "../fakes/links.ts";
import { send, startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward } = useSteward(async () => {
  service = await startTestService();
  service.links.found = [
    fakeLink("lo", { kind: "loopback", state: "unknown", mac: null, mtu: 65_536 }),
    fakeLink("eth0", {
      speedMbps: 1000,
      master: "br0",
      addresses: [
        { ...{ family: "ipv4", address: "192.0.2.2", prefixLength: 24 }, scope: "global" },
        { ...{ family: "ipv6", address: "fe80::1", prefixLength: 64 }, scope: "link" },
      ],
    }),
    fakeLink("eth1", { isUp: false, hasCarrier: false, state: "down" }),
  ];
  service.listeners.found = [
    { protocol: "udp", address: "::", port: 53, unit: null },
    { protocol: "tcp", address: "0.0.0.0", port: 80, unit: "nginx.service" },
  ];
  return service;
});

const read = async (): Promise<NetworkState> => {
  const { status, json } = await send(service, { path: "/api/v1/system/network", key: service.key(["system:read"]) });
  expect(status).toBe(200);
  return json as NetworkState;
};

describe("the network", () => {
  it("has links, routes, name servers and listeners", async () => {
    const { links, routes, notes, ...rest } = await read();
    expect(links.map(({ name, is_up: isUp, has_carrier: carrier }) => [name, isUp, carrier])).toEqual([
      ["lo", true, true],
      ["eth0", true, true],
      ["eth1", false, false],
    ]);
    expect(links[1]).toMatchObject({
      ...{ speed_mbps: 1000, mtu: 1500, mac: "02:00:00:00:00:01", master: "br0" },
      addresses: [{ address: "192.0.2.2", prefix_length: 24 }, { scope: "link" }],
    });
    expect(routes).toEqual([fakeRoute("default", { gateway: "192.0.2.1" })]);
    expect(notes).toEqual([]);
    expect(rest).toEqual({
      routes_total: 1,
      resolvers: { servers: ["192.0.2.53"], upstream: ["192.0.2.9"] },
      listeners: service.listeners.found,
      listeners_total: 2,
    });
  });

  it("is bounded, and has a note for unknown units", async () => {
    service.listeners.found = service.listeners.found.map((each) => ({ ...each, unit: null }));
    expect((await read()).notes).toEqual([expect.stringContaining("units")]);
    service.links.known = Array.from({ length: 1_500 }, (_, at) => fakeRoute(`10.0.${at >> 8}.${at & 255}`));
    const { routes, routes_total: total } = await read();
    expect([routes.length, total]).toEqual([1_000, 1_500]);
  });

  it("has the rest where listeners cannot be read", async () => {
    service.listeners.isMissing = true;
    const { links, routes, listeners, listeners_total: total, notes } = await read();
    expect([links.length, routes.length, listeners, total]).toEqual([3, 1, null, null]);
    expect(notes).toEqual(["listening sockets are not known: ss is not installed"]);
  });

  it("has no more than a thousand listeners", async () => {
    service.listeners.found = Array.from({ length: 1_200 }, (_, port) => {
      return { protocol: "tcp", address: "::", port: port + 1, unit: "a.service" };
    });
    const { listeners, listeners_total: total } = await read();
    expect([listeners?.length, listeners?.at(-1)?.port, total]).toEqual([1_000, 1_000, 1_200]);
  });

  it("is printed as three tables", async () => {
    service.listeners.found = [
      ...service.listeners.found,
      { protocol: "tcp", address: "::1", port: 81, unit: "a\u001b[2J" },
    ];
    const { code, out, err } = await steward("network");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^lo +up +loopback/m);
    expect(out).toMatch(/^eth0 +up +192\.0\.2\.2\/24 +ether +1500 +1000 Mbit\/s/m);
    expect(out).toMatch(/^ +fe80::1\/64/m);
    expect(out).toMatch(/^eth1 +off/m);
    expect(out).toMatch(/^default +192\.0\.2\.1 +eth0/m);
    expect(out).toMatch(/^\[::\]:53 +udp/m);
    expect(out).toMatch(/^0\.0\.0\.0:80 +tcp +nginx\.service/m);
    expect(out).toContain("\nname servers: 192.0.2.53 (forwards to 192.0.2.9)\n");
    expect(out).not.toContain("\u001b");
    const json = await steward("network --json");
    expect(JSON.parse(json.out)).toEqual(await read());
  });
});
