import { expect, it } from "vitest";
import { nameSources } from "#cli/completion/name-sources.ts";
import { allCommands, type CommandNode } from "#cli/core/command-tree.ts";
import { documentedProgram } from "#cli/program.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { filesBelow, read } from "./project.ts";

const root = documentedProgram("1.2.3");
const api = root.commands.find(({ name }) => name === "api");
const rows = Object.entries<Operation>(operations);
const kebab = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll("_", "-");

type Schema = Readonly<Record<string, unknown>>;
const propertiesOf = (schema: unknown): readonly (readonly [string, Schema])[] =>
  Object.entries((schema as { properties?: Readonly<Record<string, Schema>> } | undefined)?.properties ?? {});
const commandOf = (name: string): CommandNode => {
  const found = api?.commands.find((each) => each.name === kebab(name));
  if (found === undefined) throw new Error(`no command for ${name}`);
  return found;
};

it("steward api has a command for each operation, and no other", () => {
  expect(api?.commands.map(({ name }) => name)).toEqual(rows.map(([name]) => kebab(name)));
});

it.each(rows)("steward api has the arguments and options of %s, as its schemas have them", (name, operation) => {
  const { arguments: words, options, description, notes } = commandOf(name);
  expect(description).toBe(operation.summary);
  expect(notes).toContain(`${operation.method} `);
  expect(notes).toContain(operation.path);
  if (operation.description !== undefined) expect(notes).toContain(operation.description);
  expect(words.map(({ term }) => term)).toEqual(propertiesOf(operation.params).map(([each]) => `<${kebab(each)}>`));
  const names = options.flatMap((option) => option.names);
  const isInData = operation.body !== undefined;
  expect(names.includes("--data")).toBe(isInData);
  expect(names.includes("--yes")).toBe(operation.effect === "danger");
  for (const [member, schema] of [...propertiesOf(operation.query), ...propertiesOf(operation.body)]) {
    // What cannot be a word is given with --data; an answer in pieces is not asked for.
    const isStream = operation.streams !== undefined && member === "stream";
    const items = (schema["items"] as Schema | undefined)?.["type"];
    if (isStream || schema["type"] === "object" || (schema["type"] === "array" && items !== "string")) {
      expect([member, names.includes(`--${kebab(member)}`), isInData]).toEqual([member, false, true]);
      continue;
    }
    const option = options.find((each) => each.names.includes(`--${kebab(member)}`));
    expect([member, option?.choices]).toEqual([member, (schema["enum"] as string[] | undefined) ?? []]);
    if (typeof schema["description"] === "string") expect(option?.description).toContain(schema["description"]);
    if (schema["default"] !== undefined && schema["default"] !== false && schema["default"] !== "")
      expect(option?.description).toContain(`default: ${JSON.stringify(schema["default"])}`);
    expect(option?.value === "none").toBe([schema["type"]].flat().includes("boolean"));
  }
});

it("completion takes names from lists of operations, by members that these have", () => {
  for (const { path, query, list, member, ...more } of Object.values(nameSources)) {
    const row = rows.map(([, each]) => each).find((each) => each.method === "GET" && each.path === path);
    const queries = propertiesOf(row?.query).map(([name]) => name);
    expect(queries).toEqual(
      expect.arrayContaining([...Object.keys(query), ...("isSearched" in more ? ["search"] : [])]),
    );
    const items = propertiesOf(row?.response).find(([name]) => name === list)?.[1]["items"];
    expect(propertiesOf(items).map(([name]) => name)).toContain(member);
  }
});

it("each command that shows something has --json", () => {
  const silent = ["serve", "completion", "help", "context", "api", "mcp", "plugins validate", "config egress"];
  for (const node of allCommands(root)) {
    const path = node.path.join(" ");
    const isLeaf = node.commands.length === 0 && path !== "";
    if (!isLeaf || silent.some((each) => path === each || path.startsWith(`${each} `))) continue;
    expect([path, node.options.some(({ names }) => names.includes("--json"))]).toEqual([path, true]);
  }
});

it("each operation that people call has a command of its own beside steward api", () => {
  const sources = filesBelow("src/cli")
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .map(read)
    .join("\n");
  const ofPasskeys = ["getPasskeyRequestOptions", "getPasskeyCreationOptions", "createPasskey"];
  const ofPages = ["createSession", "elevateSession", "createTicket", ...ofPasskeys];
  const forPrograms = ["getLiveness", "getReadiness", "getMetrics", "createToken", "getCheckHistory", ...ofPages];
  const viewed = rows
    .map(([name]) => name)
    .filter((name) => new RegExp(`\\.${name}\\(|Command\\(\\s*"${name}"`).test(sources));
  expect(rows.map(([name]) => name).filter((name) => !viewed.includes(name))).toEqual(
    rows.map(([name]) => name).filter((name) => forPrograms.includes(name)),
  );
});

it("each line of steward that the console shows is a command with these options", () => {
  const lines = filesBelow("web/src")
    .filter((path) => path.endsWith(".tsx"))
    .flatMap((path) => [...read(path).matchAll(/["`]steward ([^"`]+)["`]/g)].map(([, line = ""]) => line));
  expect(lines.length).toBeGreaterThan(15);
  for (const line of lines) {
    const words = line.replaceAll(/\$\{[^}]*\}/g, "X").split(/\s+/);
    let node: CommandNode = root;
    for (const word of words) node = node.commands.find(({ name }) => name === word) ?? node;
    const options = words.filter((word) => /^-{1,2}[a-z]/.test(word)).map((word) => word.split("=")[0] ?? "");
    const known = node.options.flatMap(({ names }) => names);
    expect([line, node === root, options.filter((option) => !known.includes(option))]).toEqual([line, false, []]);
  }
});

it("the outputs of the process are written where control characters are removed, and nowhere else", () => {
  const counts = filesBelow("src")
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .map((path) => [path, [...read(path).matchAll(/\bstd(?:out|err)\.write\(/g)].length] as const)
    .filter(([, count]) => count > 0);
  expect(Object.fromEntries(counts)).toEqual({
    // Inside the source of a program that shows what the sandbox of a plugin permits.
    "src/adapters/plugins/index.ts": 1,
    // What a shell prints at Ctrl-C.
    "src/cli/core/person.ts": 1,
    // They take what `cleanIo` gives them.
    "src/cli/output/output.ts": 4,
    // The version, names for shells, which are printable ASCII, and the wait for what was printed.
    "src/main.ts": 3,
  });
  for (const path of filesBelow("src").filter((each) => /\bioOfProcess\(process\)/.test(read(each))))
    expect([path, /cleanIo\(ioOfProcess\(process\)\)|io: ioOfProcess\(process\)/.test(read(path))]).toEqual([
      path,
      true,
    ]);
  expect(read("src/cli/index.ts")).toContain("const io = cleanIo(given.io);");
});
