import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunProgram } from "#domain/ports/host-files.ts";
import { createFakeHostFiles } from "../../../test/fakes/host-files.ts";
import { hasUnclearFlags, parseIptablesSave, parseNftRuleset, readInputChains } from "./packet-filter.ts";

type Rule = readonly unknown[];

const table = { family: "ip", table: "filter" };
const input = { ...table, name: "INPUT", handle: 1, type: "filter", hook: "input", prio: 0, policy: "accept" };
const rule = (chain: string, expr: Rule) => ({ rule: { ...table, chain, handle: 2, expr } });
const ruleset = (items: readonly unknown[]): string =>
  JSON.stringify({
    nftables: [{ metainfo: { json_schema_version: 1 } }, { table: { family: "ip", name: "filter" } }, ...items],
  });
const refusing = (...rules: readonly { rule: unknown }[]) =>
  parseNftRuleset(ruleset([{ chain: input }, { chain: { ...table, name: "other" } }, ...rules])).map(
    ({ isRefusing }) => isRefusing,
  );

const sender = { match: { op: "==", left: { payload: { protocol: "ip", field: "saddr" } }, right: "192.0.2.1" } };
const port = { match: { op: "==", left: { payload: { protocol: "tcp", field: "dport" } }, right: 22 } };
const stateIs = (right: unknown) => ({ match: { op: "in", left: { ct: { key: "state" } }, right } });
const counter = { counter: { packets: 0, bytes: 0 } };
const jump = { jump: { target: "other" } };
const vmap = (key: unknown, set: unknown) => ({ vmap: { key, data: { set } } });

describe("nft --json list ruleset", () => {
  it("has the chains at the input hook, with their policy", () => {
    const chains = [
      { chain: { ...input, policy: "drop" } },
      { chain: { ...input, family: "inet", name: "in" } },
      { chain: { ...input, family: "ip6" } },
      { chain: { ...input, name: "FORWARD", hook: "forward", policy: "drop" } },
      { chain: { ...input, family: "bridge", policy: "drop" } },
      { chain: { ...table, name: "plain" } },
    ];
    expect(parseNftRuleset(ruleset(chains))).toEqual([
      { families: ["ipv4"], table: "filter", name: "INPUT", policy: "drop", isRefusing: false },
      { families: ["ipv4", "ipv6"], table: "filter", name: "in", policy: "accept", isRefusing: false },
      { families: ["ipv6"], table: "filter", name: "INPUT", policy: "accept", isRefusing: false },
    ]);
  });

  it.each([["dormant"], [["dormant"]], [["owner", "dormant"]]])("leaves out a table whose flags are %j", (flags) => {
    const chain = { ...input, policy: "drop" };
    const tables = [
      { table: { family: "inet", name: "filter", handle: 1, flags } },
      { table: { family: "ip", name: "other", handle: 2, flags } },
    ];
    const chains = [{ chain }, { chain: { ...chain, family: "inet" } }, { chain: { ...chain, table: "other" } }];
    expect(parseNftRuleset(ruleset([...tables, ...chains]))).toMatchObject([{ families: ["ipv4"], table: "filter" }]);
  });

  it.each<[string, unknown, boolean]>([
    ["none", undefined, false],
    ["what there is", ["owner", "dormant"], false],
    ["its name, as nftables 1.0.6 prints it", "filter", true],
    ["its name among others", ["owner", "filter"], true],
  ])("has unclear flags when they are %s", (_, flags, isUnclear) => {
    const marks = flags === undefined ? {} : { flags };
    expect(hasUnclearFlags(ruleset([{ table: { family: "inet", name: "filter", ...marks } }]))).toBe(isUnclear);
  });

  it("leaves out tables that the plain listing shows as dormant, where the flags are unclear", () => {
    const names = ["off", "owned", "both", "plain"];
    const tables = names.map((name) => ({ table: { family: "inet", name, flags: name } }));
    const chains = names.map((name) => ({ chain: { ...input, family: "inet", table: name, policy: "drop" } }));
    const rest = "\tchain INPUT {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n}\n";
    const plain = [
      `table inet off {\n\tflags dormant\n\n${rest}`,
      `table inet owned { # progname firewalld\n\tflags owner\n\n${rest}`,
      `table inet both {\n\tcomment "flags"\n\tflags dormant,owner\n\n${rest}`,
      `table inet plain {\n${rest}`,
    ].join("");
    expect(parseNftRuleset(ruleset([...tables, ...chains]), plain).map(({ table: name }) => name)).toEqual([
      "owned",
      "plain",
    ]);
  });

  it.each<[string, Rule]>([
    ["everything", [counter, { drop: null }]],
    ["with an answer", [{ reject: { type: "icmpx", expr: "port-unreachable" } }]],
    ["in the words of iptables", [counter, { xt: { type: "target", name: "REJECT" } }]],
    ["a port", [port, { drop: null }]],
    ["ports of a map", [vmap({ payload: { protocol: "tcp", field: "dport" } }, [[23, { drop: null }]])]],
    ["new connections", [stateIs({ set: ["new", "invalid"] }), { drop: null }]],
    ["all but some senders", [{ match: { ...sender.match, op: "!=" } }, { drop: null }]],
  ])("has a rule that refuses %s", (_, expr) => {
    expect(refusing(rule("INPUT", expr))).toEqual([true]);
    expect(refusing(rule("INPUT", [jump]), rule("other", expr))).toEqual([true]);
    expect(refusing(rule("other", expr))).toEqual([false]);
  });

  it.each<[string, Rule]>([
    ["certain senders", [sender, { xt: { type: "target", name: "REJECT" } }]],
    ["what belongs to no connection", [stateIs("invalid"), { drop: null }]],
    ["that in the words of iptables", [{ xt: { type: "match", name: "conntrack" } }, counter, { drop: null }]],
    [
      "that by a map",
      [
        vmap({ ct: { key: "state" } }, [
          ["invalid", { drop: null }],
          ["established", { accept: null }],
        ]),
      ],
    ],
    ["nothing", [port, { accept: null }]],
    ["nothing, but notes it", [{ xt: { type: "target", name: "LOG" } }]],
  ])("has a rule that does not refuse all: %s", (_, expr) => {
    expect(refusing(rule("INPUT", expr))).toEqual([false]);
  });

  it("follows jumps by name and by map, also in circles, unless they match senders", () => {
    const drop = rule("other", [{ drop: null }]);
    expect(refusing(rule("INPUT", [port, { goto: { target: "other" } }]), drop)).toEqual([true]);
    expect(refusing(rule("INPUT", [vmap({ meta: { key: "iifname" } }, [["eth0", jump]])]), drop)).toEqual([true]);
    expect(refusing(rule("INPUT", [sender, jump]), drop)).toEqual([false]);
    const back = rule("other", [{ jump: { target: "INPUT" } }]);
    expect(refusing(rule("INPUT", [jump]), back)).toEqual([false]);
  });

  it("is read from any JSON", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseNftRuleset(text)).toEqual([]);
      }),
    );
    const odd = fc.jsonValue().map((expr) => ruleset([{ chain: input }, { rule: { ...table, chain: "INPUT", expr } }]));
    fc.assert(
      fc.property(odd, (text) => {
        expect(parseNftRuleset(text)).toHaveLength(1);
      }),
    );
    expect(() => parseNftRuleset("")).toThrow(SyntaxError);
  });
});

const parse = (policy: string, ...rules: readonly string[]) =>
  parseIptablesSave(
    [
      "# Generated by iptables-save",
      "*filter",
      `:INPUT ${policy} [0:0]`,
      ":FORWARD DROP [0:0]",
      ":other - [0:0]",
      ...rules,
      "COMMIT",
      "",
    ].join("\n"),
    "ipv4",
  );

describe("iptables-legacy-save", () => {
  it("has the policy of the chain INPUT", () => {
    const chain = { families: ["ipv4"], table: "filter", name: "INPUT", isRefusing: false };
    expect(parse("DROP", "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT")).toEqual({ ...chain, policy: "drop" });
    expect(parse("ACCEPT")).toEqual({ ...chain, policy: "accept" });
    expect(parseIptablesSave("*mangle\nCOMMIT\n", "ipv6")).toBeUndefined();
  });

  it.each([
    [["-A INPUT -j DROP"], true],
    [["-A INPUT -p tcp -m tcp --dport 23 -j REJECT --reject-with tcp-reset"], true],
    [["-A INPUT -p tcp -j other", "-A other -j DROP"], true],
    [["-A INPUT ! -s 192.0.2.0/24 -j DROP"], true],
    [["-A INPUT -m conntrack --ctstate INVALID,NEW -j DROP"], true],
    [["-A INPUT -s 192.0.2.1/32 -j REJECT --reject-with icmp-port-unreachable"], false],
    [["-A INPUT -m conntrack --ctstate INVALID -j DROP"], false],
    [["-A INPUT -m set --match-set banned src -j DROP"], false],
    [["-A INPUT -s 192.0.2.1/32 -j other", "-A other -j DROP"], false],
    [["-A INPUT -j other", "-A other -j INPUT"], false],
    [["-A FORWARD -j DROP", "-A other -j DROP"], false],
  ])("with %j refuses new connections: %s", (rules, isRefusing) => {
    expect(parse("ACCEPT", ...rules)).toMatchObject({ isRefusing });
  });

  it("is read whatever it holds", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseIptablesSave(text, "ipv4")).toBeUndefined();
      }),
    );
  });
});

describe("the packet filter", () => {
  const { signal } = new AbortController();
  const nft = "/usr/sbin/nft";
  const [save, tables] = ["/usr/sbin/iptables-legacy-save", "/proc/net/ip_tables_names"];
  const programs = { [nft]: "", [save]: "" };
  const used = { ...programs, [tables]: "mangle\nfilter\n" };
  const empty = { stdout: JSON.stringify({ nftables: [] }) };
  const chain = { family: "inet", table: "filter", name: "input", type: "filter", hook: "input", prio: 0 };
  const dropping = { stdout: JSON.stringify({ nftables: [{ chain: { ...chain, policy: "drop" } }] }) };
  const saved = { stdout: "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp --dport 23 -j REJECT\nCOMMIT\n" };
  type Answer = Partial<Awaited<ReturnType<RunProgram>>>;
  /** With programs that answer this, by their path. */
  const found = (answers: Readonly<Record<string, Answer>>, files: Readonly<Record<string, string>> = programs) => {
    const exec: RunProgram = ([path]) => Promise.resolve({ exitCode: 0, stdout: "", stderr: "", ...answers[path] });
    return readInputChains({ hostFiles: createFakeHostFiles(files), exec }, signal);
  };

  it("has the chains that packets for this host go through, of the old iptables as well", async () => {
    const known = { families: ["ipv4", "ipv6"], table: "filter", name: "input", policy: "drop", isRefusing: false };
    expect(await found({ [nft]: dropping })).toEqual({ chains: [known], unreadable: [] });
    expect(await found({ [nft]: empty })).toEqual({ chains: [], unreadable: [] });
    const old = { families: ["ipv4"], table: "filter", name: "INPUT", policy: "accept", isRefusing: true };
    expect(await found({ [nft]: empty, [save]: saved }, used)).toEqual({ chains: [old], unreadable: [] });
  });

  it("is not asked for a table that nobody has used: asking makes it", async () => {
    const unused = { ...programs, [tables]: "mangle\n" };
    for (const files of [programs, unused])
      expect((await found({ [nft]: empty, [save]: saved }, files)).chains).toEqual([]);
  });

  it.each<[string, Answer, Readonly<Record<string, string>>, string]>([
    ["nft is not installed", {}, {}, `${nft} is not installed`],
    [
      "it may not be read",
      { exitCode: 1, stderr: "Operation not permitted (you must be root)\nnetlink: Error: cache\n" },
      programs,
      `${nft}: Operation not permitted (you must be root)`,
    ],
    ["there is too much", { stdout: "{", truncated: true }, programs, `${nft} lists more than can be read`],
    [
      "the program for the old rules is not installed",
      empty,
      { [nft]: "", [tables]: "filter\n" },
      `${save} is not installed`,
    ],
    ["root alone may read the old tables", empty, { [nft]: "", [tables]: "!EACCES" }, `only root may read ${tables}`],
  ])("says that %s", async (_, answer, files, unreadable) => {
    expect(await found({ [nft]: answer }, files)).toEqual({ chains: [], unreadable: [unreadable] });
  });
});
