import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasUnclearFlags, parseNftRuleset } from "./nft.ts";

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
