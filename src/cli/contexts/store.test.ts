import { expect, it } from "vitest";
import { mergeTables, parseAnswer } from "./print.ts";
import { chooseContext, parseContexts, writtenContexts } from "./store.ts";

it.each([
  ["the command line", { context: "a" }, { STEWARD_CONTEXT: "b" }, "a"],
  ["an address on the command line", { url: "http://x" }, { STEWARD_CONTEXT: "b" }, undefined],
  ["the environment", {}, { STEWARD_CONTEXT: "b" }, "b"],
  ["an address in the environment", {}, { STEWARD_URL: "http://x" }, undefined],
  ["a key in the environment", {}, { STEWARD_API_KEY: "k" }, undefined],
  ["an empty environment", {}, { STEWARD_CONTEXT: "" }, "now"],
  ["what is used otherwise", {}, {}, "now"],
  ["the service of this host by its name", { context: "local" }, { STEWARD_CONTEXT: "b" }, "local"],
  ["its name in the environment", {}, { STEWARD_CONTEXT: "local", STEWARD_API_KEY: "k" }, "local"],
])("the context is chosen by %s", (_, given, environment, expected) => {
  expect(chooseContext(given, environment, () => "now")).toBe(expected);
});

it("contexts are read as they were written", () => {
  const contexts = {
    current: "web1",
    all: {
      web1: { url: "https://web1:8470", keyFile: "/k", cacert: "/ca" },
      web2: { url: "https://web2:8470", cert: "/c", certKey: "/ck" },
    },
  };
  const written = writtenContexts(contexts);
  expect(parseContexts(written)).toEqual(contexts);
  expect(written).toMatchObject({ contexts: { web1: { key_file: "/k" }, web2: { cert_key: "/ck" } } });
});

it.each([
  ["a word", "it must have current and contexts"],
  [{ contexts: [] }, "contexts must be names"],
  [{ current: 1 }, "current must be a name"],
  [{ contexts: { x: { key_file: "/k" } } }, "x needs url"],
  [{ contexts: { x: { url: "http://x" } } }, "x needs key_file or cert"],
  [{ contexts: { "a,b": { url: "http://x", key_file: "/k" } } }, "cannot name a context"],
  [{ contexts: { __proto__x: { url: "http://x", key_file: "/k" } } }, "cannot name a context"],
])("contexts that are %j are refused", (value, why) => {
  expect(() => parseContexts(value)).toThrow(why);
});

it("tables of several hosts with the same columns are merged", () => {
  const table = (...rows: string[][]) => [{ head: ["unit", "state"], rows }];
  const merged = mergeTables([
    { name: "web1", collected: { tables: table(["a", "up"], ["b", "up"]) } },
    { name: "web2", collected: { tables: [...table(["a", "down"]), { head: ["other"], rows: [["x"]] }] } },
  ]);
  expect(merged).toEqual([
    {
      head: ["host", "unit", "state"],
      rows: [
        ["web1", "a", "up"],
        ["web1", "b", "up"],
        ["web2", "a", "down"],
      ],
    },
    { head: ["host", "other"], rows: [["web2", "x"]] },
  ]);
});

it.each([
  ['{"a":1}\n', { a: 1 }],
  ['{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
  ["words\n", "words\n"],
])("the answer %j of a host is read as JSON or text", (text, expected) => {
  expect(parseAnswer(text)).toEqual(expected);
});
