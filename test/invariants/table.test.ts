import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { deprecationFaults } from "#contract/deprecation.ts";
import { errorStatus } from "#contract/errors.ts";
import { operations, resources } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { errorsOf } from "#contract/operation.ts";
import { isGateable, narrowableScopes, parseScope, scopes } from "#contract/scopes.ts";
import { streams } from "#contract/streams.ts";
import { startTestService } from "../api/harness.ts";
import { filesBelow, read } from "./project.ts";

const rows = Object.entries<Operation>(operations);

describe("operations table", () => {
  it("has one row for each method and path", () => {
    const keys = rows.map(([, { base, method, path }]) => `${base} ${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect(new Set(keys).size).toBe(rows.length);
  });

  it.each(rows)("%s is complete", (_, operation) => {
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(["self", "public", ...scopes]).toContain(operation.scope);
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared =
      operation.params === undefined ? [] : Object.keys((operation.params as { properties?: object }).properties ?? {});
    expect(declared).toEqual(inPath);
    if (operation.effect !== "read") {
      expect(operation.query).toMatchObject({
        additionalProperties: false,
        properties: { dry_run: { default: false } },
      });
      if (operation.body !== undefined) expect(operation.body).toMatchObject({ additionalProperties: false });
      // A credential in the body is one too.
      expect(operation.scope === "public").toBe(operation.session === "signsIn");
    }
    if (operation.resource !== undefined) {
      const params = Object.fromEntries(inPath.map((name) => [name, "x"]));
      expect(parseScope(`${operation.scope}:${operation.resource(params)}`)?.resource).toBeDefined();
    }
  });

  it("says of every scope that may be narrowed how it is: by what the call touches or by what is answered", () => {
    for (const [name, operation] of rows) {
      const isNarrowable = narrowableScopes.some((scope) => scope === operation.scope);
      const ways = [operation.resource, operation.narrows].filter((way) => way !== undefined);
      expect([name, ways.length]).toEqual([name, isNarrowable ? 1 : 0]);
    }
  });

  it("has windows hold back just the scopes that calls which change something take", () => {
    const changing = rows.filter(([, { effect }]) => effect !== "read");
    const needed = changing.flatMap(([, { scope, alsoNeeds = [] }]) => [scope, ...alsoNeeds]);
    const held = scopes.filter((scope) => needed.includes(scope) && !scope.endsWith(":read"));
    expect(scopes.filter(isGateable)).toEqual(held);
  });

  it("has a handler behind every row, and no route beside them but the streams, the reference and the page at the address itself", async () => {
    const { app } = await startTestService();
    for (const [name, { base, method, path }] of rows) {
      const url = `${base === "root" ? "" : "/api/v1"}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
      expect([name, app.hasRoute({ method, url })]).toEqual([name, true]);
    }
    const routes = app.printRoutes({ commonPrefix: false }).match(/\((?:GET|POST|DELETE)[^)]*\)/g) ?? [];
    const pages = 11;
    expect(
      routes.flatMap((methods) =>
        methods
          .slice(1, -1)
          .split(", ")
          .filter((method) => method !== "HEAD"),
      ),
    ).toHaveLength(rows.length + Object.keys(streams).length + pages);
    await app.close();
  });

  it("is in the docs, every row and every error", () => {
    const page = read("docs/reference/operations.md");
    for (const [name, operation] of rows) {
      const line = page.split("\n").find((text) => text.includes(`\`${name}\``)) ?? "";
      for (const code of errorsOf(operation))
        expect([name, line]).toEqual([name, expect.stringContaining(`\`${code}\``)]);
    }
    for (const code of Object.keys(errorStatus)) expect(page).toContain(`| \`${code}\` |`);
  });

  it("has tests that name every operation's path or call", () => {
    const tests = filesBelow("test/api")
      // The second has the errors that a test of each operation provokes.
      .filter((path) => path.endsWith(".test.ts") || path.endsWith("provoked-errors.ts"))
      .map(read)
      .join("\n");
    for (const [name, { path }] of rows) {
      const called = new RegExp(`\\b${name}\\b|${path.replaceAll(/\{\w+\}/g, '[^/"`]+')}["\`?]`);
      expect([name, called.test(tests)]).toEqual([name, true]);
    }
  });

  it("uses names for resources that are types as well", () => {
    for (const name of Object.keys(resources)) expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
  });
});

interface Schema {
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** Every member of a schema that is a time, with the path to it. */
function timesIn(
  { format, properties = {}, patternProperties = {}, items, anyOf = [] }: Schema,
  path: string,
): readonly string[] {
  const below = Object.entries({ ...properties, ...patternProperties });
  return [
    ...(format === "date-time" ? [path] : []),
    ...below.flatMap(([name, member]) => timesIn(member, `${path}.${name}`)),
    ...(items === undefined ? [] : timesIn(items, path)),
    ...anyOf.flatMap((arm) => timesIn(arm, path)),
  ];
}

it("deprecates operations for as long as the policy says (docs/versioning.md)", () => {
  const faults = rows.flatMap(([name, { deprecated, path }]) =>
    deprecated === undefined ? [] : deprecationFaults(deprecated, path).map((fault) => `${name}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

describe("answers", () => {
  it("that are lists say in the same words how many there are, how many are shown and where the next page begins", () => {
    /** As the contract has them, field for field. */
    const ofTheContract = ["listChecks", "listServices", "listLogs", "listSnapshots", "listConnectors", "listPlugins"];
    /** Several lists in one answer (docs/adr/0006-behaviour-the-contract-leaves-open.md). */
    const severalLists = ["listLogins", "listDisks", "listStale"];
    const others = rows.filter(([name]) => /^(?:list|search)/.test(name));
    const lacking = others.filter(([, { response }]) => {
      const { properties = {} } = response as Schema;
      return ["total", "limit", "next_cursor"].some((name) => !(name in properties));
    });
    expect(lacking.map(([name]) => name).sort()).toEqual([...ofTheContract, ...severalLists].sort());
  });

  it("name times *_at, but for the names of the contract and those that were there before", () => {
    /** `timestamp` of a log entry, `since` and `until` of its queries, `time` of a log line. */
    const ofTheContract = ["timestamp", "since", "until", "time"];
    /** Of version 0.2 and before; no others join them. */
    const before = ["start", "start_time", "first", "last"];
    const names = rows.flatMap(([name, { response }]) => timesIn(response as Schema, name));
    const odd = names.map((path) => path.split(".").at(-1) ?? "").filter((name) => !/(?:^|_)at$/.test(name));
    expect([...new Set(odd)].sort()).toEqual([...ofTheContract, ...before].sort());
  });
});

describe("registry of health checks", () => {
  it("has every check of its folder, each with an id after its file and a test beside it", () => {
    const files = filesBelow("src/domain/health/checks");
    const names = files.filter((path) => !path.endsWith(".test.ts")).map((path) => basename(path, ".ts"));
    const registry = read("src/domain/health/registry.ts");
    for (const name of names) {
      const id = name.replaceAll("-", "_");
      const source = read(`src/domain/health/checks/${name}.ts`);
      const [, factory] = new RegExp(`(\\w+Check)\\b[^}]* \\} from "./checks/${name}.ts"`).exec(registry) ?? [];
      expect([name, registry.includes(`  ${id}: ${factory},\n`), source.includes(`id: "${id}"`)]).toEqual([
        name,
        true,
        true,
      ]);
      expect(files).toContain(`src/domain/health/checks/${name}.test.ts`);
    }
    const listed = registry.match(/^ {2}\w+: \w+Check,$/gm) ?? [];
    expect(listed).toHaveLength(names.length);
  });
});

describe("registry of fixes", () => {
  const names = filesBelow("src/domain/health/fixes")
    .filter((path) => !path.endsWith(".test.ts"))
    .map((path) => basename(path, ".ts"));

  it("has every fix of its folder, each with an id after its file and a test beside it", () => {
    const registry = read("src/domain/health/fixes-registry.ts");
    const files = filesBelow("src/domain/health/fixes");
    for (const name of names) {
      const id = name.replaceAll("-", "_");
      const source = read(`src/domain/health/fixes/${name}.ts`);
      const found = [registry.includes(`./fixes/${name}.ts"`), source.includes(`id: "${id}"`)];
      expect([name, ...found]).toEqual([name, true, true]);
      expect(files).toContain(`src/domain/health/fixes/${name}.test.ts`);
    }
    expect(registry.slice(registry.indexOf("return [")).match(/Fix\(/g)).toHaveLength(names.length);
  });

  it("has every fix that a check names, and no other", () => {
    const sources = filesBelow("src/domain/health/checks").filter((path) => !path.endsWith(".test.ts"));
    const lists = sources.flatMap((path) =>
      [...read(path).matchAll(/fixes: \[([^\]]*)\]/g)].map(([, list = ""]) => list),
    );
    const named = lists.flatMap((list) => [...list.matchAll(/"(\w+)"/g)].map(([, id = ""]) => id.replaceAll("_", "-")));
    expect([...new Set(named)].sort()).toEqual([...names].sort());
  });
});

describe("statuses of failures", () => {
  it("appear in one file", () => {
    const literal = /\b(?:code|status|statusCode)\(?\s*(?:[:=]=*|\()\s*[45]\d\d\b/;
    // Adapters answer nobody: what they name is what other servers answer. OTLP is a protocol of its own, with statuses of its own.
    const others = /^src\/(adapters|transports\/otlp)\//;
    const files = filesBelow("src").filter(
      (path) => !others.test(path) && /(?<!\.test)\.ts$/.test(path) && literal.test(read(path)),
    );
    expect(files).toEqual([]);
  });
});
