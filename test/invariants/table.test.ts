import { describe, expect, it } from "vitest";
import { deprecationFaults } from "#contract/deprecation.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { isGateable, narrowableScopes, parseScope, scopes } from "#contract/scopes.ts";
import { streams } from "#contract/streams.ts";
import { builtInFixes, type FixPorts } from "#domain/health/fixes-registry.ts";
import { builtInChecks, type CheckPorts } from "#domain/health/registry.ts";
import { startTestService } from "../api/harness.ts";
import { filesBelow, read } from "./project.ts";

const rows = Object.entries<Operation>(operations);

describe("operations table", () => {
  it("has one row for each method and path", () => {
    const keys = rows.map(([, { base, method, path }]) => `${base} ${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`);
    expect(new Set(keys).size).toBe(rows.length);
  });

  it.each(rows)(
    "%s has a summary, a scope, its parameters, and a dry run where it changes something",
    (_, operation) => {
      expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
      expect(["self", "public", ...scopes]).toContain(operation.scope);
      const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared =
        operation.params === undefined
          ? []
          : Object.keys((operation.params as { properties?: object }).properties ?? {});
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
    },
  );

  it("narrows each scope that may be narrowed by what the call touches, or by what is answered", () => {
    for (const [name, operation] of rows) {
      const isNarrowable = narrowableScopes.some((scope) => scope === operation.scope);
      const ways = [operation.resource, operation.narrows].filter((way) => way !== undefined);
      expect([name, ways.length]).toEqual([name, isNarrowable ? 1 : 0]);
    }
  });

  it("lets windows hold back the scopes of mutations, and no others", () => {
    const changing = rows.filter(([, { effect }]) => effect !== "read");
    const needed = changing.flatMap(([, { scope, alsoNeeds = [] }]) => [scope, ...alsoNeeds]);
    const held = scopes.filter((scope) => needed.includes(scope) && !scope.endsWith(":read"));
    expect(scopes.filter(isGateable)).toEqual(held);
  });

  it("has a handler behind every row, and no route beside them but the streams, the reference, the console and MCP", async () => {
    const { app } = await startTestService();
    for (const [name, { base, method, path }] of rows) {
      const url = `${base === "root" ? "" : "/api/v1"}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
      expect([name, app.hasRoute({ method, url })]).toEqual([name, true]);
    }
    const printed = app.printRoutes({ commonPrefix: false }).match(/\((?:GET|POST|DELETE)[^)]*\)/g) ?? [];
    const routes = printed.flatMap((methods) => methods.slice(1, -1).split(", ")).filter((method) => method !== "HEAD");
    const pages = 9;
    const methodsOfMcp = 3;
    expect(routes).toHaveLength(rows.length + Object.keys(streams).length + pages + methodsOfMcp);
    await app.close();
  });
});

it("operations are deprecated for as long as docs/versioning.md says", () => {
  const faults = rows.flatMap(([name, { deprecated, path }]) =>
    deprecated === undefined ? [] : deprecationFaults(deprecated, path).map((fault) => `${name}: ${fault}`),
  );
  expect(faults).toEqual([]);
});

it("lists in answers say how many there are, how many are shown and where the next page begins", () => {
  /** As the contract has them, field for field. */
  const ofTheContract = ["listChecks", "listServices", "listLogs", "listSnapshots", "listConnectors", "listPlugins"];
  /** Several lists in one answer (docs/adr/0006-behaviour-the-contract-leaves-open.md). */
  const severalLists = ["listLogins", "listDisks", "listStale"];
  const lacking = rows.filter(([name, { response }]) => {
    const { properties = {} } = response as { properties?: object };
    return /^(?:list|search)/.test(name) && ["total", "limit", "next_cursor"].some((member) => !(member in properties));
  });
  expect(lacking.map(([name]) => name).sort()).toEqual([...ofTheContract, ...severalLists].sort());
});

describe("the registry of", () => {
  /** On a host with apt, which has all of them. */
  const onPaper = { packages: { name: "apt" }, security: {} } as unknown as CheckPorts & FixPorts;
  const checks = builtInChecks(onPaper);
  const fixIds = builtInFixes(onPaper).map(({ id }) => id);
  const checkIds = checks.map(({ id }) => (id === "apt_status" ? "package_status" : id));

  it.each([
    ["checks", checkIds],
    ["fixes", fixIds],
  ])("%s has each file of its directory, with an id after its name and a test beside it", (kind, ids) => {
    const files = ids.map((id) => `src/domain/health/${kind}/${id.replaceAll("_", "-")}`);
    const expected = files.flatMap((path) => [`${path}.ts`, `${path}.test.ts`]);
    expect(filesBelow(`src/domain/health/${kind}`).toSorted()).toEqual(expected.toSorted());
  });

  it("fixes has each fix that a check names, and no other", () => {
    const named = new Set(checks.flatMap(({ fixes = [] }) => fixes));
    expect([...named].toSorted()).toEqual(fixIds.toSorted());
  });
});

describe("statuses of failures", () => {
  it("are written in src/contract/errors.ts alone", () => {
    const literal = /\b(?:code|status|statusCode)\(?\s*(?:[:=]=*|\()\s*[45]\d\d\b/;
    // Adapters answer nobody: what they name is what other servers answer. OTLP is a protocol of its own, with statuses of its own.
    const others = /^src\/(adapters|transports\/otlp)\//;
    const files = filesBelow("src").filter(
      (path) => !others.test(path) && /(?<!\.test)\.ts$/.test(path) && literal.test(read(path)),
    );
    expect(files).toEqual([]);
  });
});
