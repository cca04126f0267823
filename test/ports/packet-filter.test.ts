import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { createPacketFilter } from "#adapters/netfilter/index.ts";
import type { PacketFilter } from "#domain/ports/network.ts";
import { createFakePacketFilter, fakeInputChain } from "../fakes/packet-filter.ts";

const dir = mkdtempSync(join(tmpdir(), "steward-netfilter-"));
const program = (name: string): string => {
  writeFileSync(join(dir, name), "");
  return join(dir, name);
};
const [nft, save, tables] = [program("nft"), program("iptables-legacy-save"), program("ip_tables_names")];
writeFileSync(tables, "mangle\nfilter\n");
afterAll(() => rmSync(dir, { recursive: true }));

const absent = { family: "ipv6", tables: "/nonexistent/names", save: "/nonexistent/save" } as const;
const legacy = [{ family: "ipv4", tables, save }, absent] as const;
const { signal } = new AbortController();

const chain = { family: "inet", table: "filter", name: "input", type: "filter", hook: "input", prio: 0 };
const ruleset = JSON.stringify({ nftables: [{ chain: { ...chain, policy: "drop" } }] });
const empty = JSON.stringify({ nftables: [] });
const saved = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp --dport 23 -j REJECT\nCOMMIT\n";

/** Programs that answer this, by their path; those of a real host are asked in test/host. */
const answering =
  (answers: Readonly<Record<string, Partial<CommandResult>>>): Exec =>
  ([path]) =>
    Promise.resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false, ...answers[path] });

const real = (
  answers: Readonly<Record<string, Partial<CommandResult>>>,
  paths: Parameters<typeof createPacketFilter>[0]["paths"],
) => createPacketFilter({ exec: answering(answers), ...(paths !== undefined && { paths }) });

describe.each<[string, Record<"filtering" | "none" | "unreadable", PacketFilter>]>([
  [
    "fake",
    {
      filtering: createFakePacketFilter([fakeInputChain({ policy: "drop" })]),
      none: createFakePacketFilter([]),
      unreadable: createFakePacketFilter([], ["/nonexistent/nft is not installed"]),
    },
  ],
  [
    "nftables",
    {
      filtering: real({ [nft]: { stdout: ruleset } }, { nft, legacy: [absent] }),
      none: real({ [nft]: { stdout: empty } }, { nft, legacy: [absent] }),
      unreadable: real({}, { nft: "/nonexistent/nft", legacy: [absent] }),
    },
  ],
])("packet filter: %s", (_, filters) => {
  it("reports the chains that packets for this host go through", async () => {
    const expected = [
      { families: ["ipv4", "ipv6"], table: "filter", name: "input", policy: "drop", isRefusing: false },
    ];
    expect(await filters.filtering.inputChains(signal)).toEqual({ chains: expected, unreadable: [] });
  });

  it("may have none", async () => {
    expect(await filters.none.inputChains(signal)).toEqual({ chains: [], unreadable: [] });
  });

  it("reports what it cannot tell", async () => {
    const unreadable = ["/nonexistent/nft is not installed"];
    expect(await filters.unreadable.inputChains(signal)).toEqual({ chains: [], unreadable });
  });
});

describe("packet filter: the host", () => {
  it("has the rules of the old iptables as well", async () => {
    const filter = real({ [nft]: { stdout: empty }, [save]: { stdout: saved } }, { nft, legacy });
    expect(await filter.inputChains(signal)).toEqual({
      chains: [{ families: ["ipv4"], table: "filter", name: "INPUT", policy: "accept", isRefusing: true }],
      unreadable: [],
    });
  });

  it("does not ask for a table that nobody has used: asking makes it", async () => {
    const unused = [{ family: "ipv4", tables: "/nonexistent/names", save }] as const;
    const filter = real({ [nft]: { stdout: empty }, [save]: { stdout: saved } }, { nft, legacy: unused });
    expect((await filter.inputChains(signal)).chains).toEqual([]);
  });

  it("says why it is not admitted, and that there is too much", async () => {
    const denied = { exitCode: 1, stderr: "Operation not permitted (you must be root)\nnetlink: Error: cache\n" };
    const refused = await real({ [nft]: denied }, { nft, legacy: [absent] }).inputChains(signal);
    expect(refused.unreadable).toEqual([`${nft}: Operation not permitted (you must be root)`]);
    const cut = await real({ [nft]: { stdout: "{", truncated: true } }, { nft, legacy: [absent] }).inputChains(signal);
    expect(cut.unreadable).toEqual([`${nft} lists more than can be read`]);
  });

  it("says that the program for the old rules is missing", async () => {
    const bare = [{ family: "ipv4", tables, save: "/nonexistent/save" }] as const;
    const filter = real({ [nft]: { stdout: empty } }, { nft, legacy: bare });
    expect((await filter.inputChains(signal)).unreadable).toEqual(["/nonexistent/save is not installed"]);
  });
});
