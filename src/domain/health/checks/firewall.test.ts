import { describe, expect, it } from "vitest";
import type { OpenPort } from "#domain/ports/network.ts";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import { createFakeListeningSockets, fakeOpenPort } from "../../../../test/fakes/listening-sockets.ts";
import type { InputChain } from "../packet-filter.ts";
import { firewallCheck } from "./firewall.ts";

const { signal } = new AbortController();
/** A chain that lets everything through. */
const fakeInputChain = (given: Partial<InputChain> = {}): InputChain => ({
  families: ["ipv4", "ipv6"],
  table: "filter",
  name: "input",
  policy: "accept",
  isRefusing: false,
  ...given,
});

/** As nft prints chains and their rules. */
const rulesetOf = (chains: readonly InputChain[]): string => {
  const items = chains.flatMap(({ families, table, name, policy, isRefusing }) => {
    const family = families.length === 2 ? "inet" : { ipv4: "ip", ipv6: "ip6" }[families[0] ?? "ipv4"];
    const rules = isRefusing ? [{ rule: { family, table, chain: name, expr: [{ drop: null }] } }] : [];
    return [{ chain: { family, table, name, policy, type: "filter", hook: "input", prio: 0 } }, ...rules];
  });
  return JSON.stringify({ nftables: items });
};
const run = (
  open: readonly OpenPort[],
  chains: readonly InputChain[],
  given: { readonly files?: Readonly<Record<string, string>>; readonly ignore?: readonly string[] } = {},
) =>
  firewallCheck({
    sockets: createFakeListeningSockets(open, { 4711: "nginx" }),
    hostFiles: createFakeHostFiles({ "/usr/sbin/nft": "", ...given.files }),
    exec: () => Promise.resolve({ exitCode: 0, stdout: rulesetOf(chains), stderr: "" }),
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
    const tables = "/proc/net/ip_tables_names";
    const files = { [tables]: "!EACCES" };
    expect(await run([web], [], { files })).toMatchObject({
      status: "skip",
      message:
        "80/tcp (nginx) is open to the network, and it is unknown whether anything filters incoming traffic: only root may read /proc/net/ip_tables_names",
      details: { reasons: [`only root may read ${tables}`] },
    });
    expect((await run([web], [drop], { files })).status).toBe("pass");
    expect((await run([], [], { files })).status).toBe("pass");
  });

  it("lists a bounded number of ports", async () => {
    const many = Array.from({ length: 80 }, (_, at) => fakeOpenPort({ port: 1000 + at, inode: 0 }));
    const { message, details } = await run(many, []);
    expect(message).toMatch(/^1000\/tcp, 1001\/tcp, 1002\/tcp, 1003\/tcp, 1004\/tcp and 75 more are open/);
    expect([details["open_count"], (details["open_ports"] as unknown[]).length]).toEqual([80, 50]);
  });
});
