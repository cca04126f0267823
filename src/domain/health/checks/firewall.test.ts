import { describe, expect, it } from "vitest";
import type { InputChain, OpenPort } from "#domain/ports/network.ts";
import { createFakeListeningSockets, fakeOpenPort } from "../../../../test/fakes/listening-sockets.ts";
import { createFakePacketFilter, fakeInputChain } from "../../../../test/fakes/packet-filter.ts";
import { firewallCheck } from "./firewall.ts";

const { signal } = new AbortController();
const run = (
  open: readonly OpenPort[],
  chains: readonly InputChain[],
  given: { readonly unreadable?: readonly string[]; readonly ignore?: readonly string[] } = {},
) =>
  firewallCheck({
    sockets: createFakeListeningSockets(open, { 4711: "nginx" }),
    filter: createFakePacketFilter(chains, given.unreadable),
  }).run({ ignore: given.ignore ?? [] }, signal);

const web = fakeOpenPort();
const web6 = fakeOpenPort({ address: "::", families: ["ipv4", "ipv6"], inode: 0 });
const dns = fakeOpenPort({ protocol: "udp", port: 53, inode: 0 });
const drop = fakeInputChain({ policy: "drop" });

describe("firewall", () => {
  it("warns of open ports without a filter, and names them", async () => {
    expect(await run([web, web6, dns], [fakeInputChain()])).toEqual({
      status: "warn",
      message: "80/tcp (nginx), 53/udp are open to the network, and no rule filters incoming traffic",
      details: {
        open_ports: [
          { port: 80, protocol: "tcp", address: "0.0.0.0", filtered: false, program: "nginx" },
          { port: 80, protocol: "tcp", address: "::", filtered: false, program: null },
          { port: 53, protocol: "udp", address: "0.0.0.0", filtered: false, program: null },
        ],
        open_count: 3,
        chains: [{ families: ["ipv4", "ipv6"], table: "filter", name: "input", policy: "accept", refusing: false }],
      },
    });
    expect(await run([dns], [])).toMatchObject({ message: expect.stringMatching(/^53\/udp is open/) });
  });

  it("passes with a policy or rule that refuses", async () => {
    expect(await run([web6], [drop])).toMatchObject({
      status: "pass",
      message: "Incoming traffic is filtered: chain input of table filter drops what no rule accepts",
      details: { open_ports: [{ filtered: true, program: null }] },
    });
    expect(await run([web], [fakeInputChain({ isRefusing: true })])).toMatchObject({
      status: "pass",
      message: "Incoming traffic is filtered: chain input of table filter rejects part of it",
    });
  });

  it("passes when nothing listens, or only ignored ports", async () => {
    expect(await run([], [])).toMatchObject({ status: "pass", message: "Nothing listens beyond loopback" });
    for (const ignore of [["80"], ["80/tcp"], ["8?"]]) {
      expect(await run([web], [], { ignore })).toMatchObject({
        status: "pass",
        message: "Nothing but what settings ignore listens beyond loopback",
      });
    }
    expect((await run([web], [], { ignore: ["80/udp"] })).status).toBe("warn");
  });

  it("warns when only one address family is filtered", async () => {
    expect(await run([web6], [fakeInputChain({ families: ["ipv4"], policy: "drop" })])).toMatchObject({
      status: "warn",
      message: "80/tcp is open to the network, and no rule filters incoming traffic over IPv6",
    });
    expect((await run([web], [fakeInputChain({ families: ["ipv4"], policy: "drop" })])).status).toBe("pass");
  });

  it("skips when rules are unreadable, unless that does not matter", async () => {
    const unreadable = ["/usr/sbin/nft is not installed"];
    expect(await run([web], [], { unreadable })).toMatchObject({
      status: "skip",
      message:
        "80/tcp (nginx) is open to the network, and it is unknown whether anything filters incoming traffic: /usr/sbin/nft is not installed",
      details: { reasons: unreadable },
    });
    expect((await run([web], [drop], { unreadable })).status).toBe("pass");
    expect((await run([], [], { unreadable })).status).toBe("pass");
  });

  it("lists a bounded number of ports", async () => {
    const many = Array.from({ length: 80 }, (_, at) => fakeOpenPort({ port: 1000 + at, inode: 0 }));
    const { message, details } = await run(many, []);
    expect(message).toMatch(/^1000\/tcp, 1001\/tcp, 1002\/tcp, 1003\/tcp, 1004\/tcp and 75 more are open/);
    expect([details["open_count"], (details["open_ports"] as unknown[]).length]).toEqual([80, 50]);
  });
});
