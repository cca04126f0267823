import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyProject, type ProjectCopy } from "./project-copy.ts";

let copy: ProjectCopy;
beforeAll(() => {
  copy = copyProject();
});
afterAll(() => copy.remove());

/** What is wrong with the copy for as long as a gate runs: a file, and how it is changed. */
type Break = readonly [path: string, change: (text: string) => string];

/** Breaks the copy in all these ways at once, since a run of a gate takes longer than whatever it finds. */
function broken(breaks: readonly Break[], gate: readonly [string, ...string[]]) {
  const before = breaks.map(([path]) => [path, copy.read(path)] as const);
  try {
    for (const [path, change] of breaks) {
      const text = copy.read(path);
      const changed = change(text);
      expect([path, changed === text]).toEqual([path, false]);
      copy.write(path, changed);
    }
    return copy.run(gate);
  } finally {
    for (const [path, text] of before) copy.write(path, text);
  }
}

const prepend = (line: string) => (text: string) => `${line}\n${text}`;
const compile = ["tsc", "-b"] as const;
type Result = ReturnType<ProjectCopy["run"]>;

describe("the compiler", () => {
  it("accepts the project as it is", () => {
    expect(copy.run(compile)).toEqual({ status: 0, output: "" });
  });

  describe("refuses what a layer may not import:", () => {
    const imports = [
      ["the domain, an adapter by its name", "src/domain/system/service-policy.ts", "#adapters/exec/index.ts", "exec"],
      [
        "the domain, an adapter by its path",
        "src/domain/ports/units.ts",
        "../../adapters/clock/index.ts",
        "systemClock",
      ],
      ["the contract, the domain", "src/contract/scopes.ts", "#domain/common/error.ts", "invalid"],
      ["a transport, an adapter", "src/transports/http/guard.ts", "#adapters/clock/index.ts", "systemClock"],
      ["the command line, the domain", "src/cli/output/output.ts", "#domain/common/error.ts", "invalid"],
      ["the contract, Node", "src/contract/limits.ts", "node:fs", "readFileSync"],
      ["the kernel, Node", "src/kernel/errors.ts", "node:fs", "readFileSync"],
      ["the client, Node", "src/client/index.ts", "node:fs", "readFileSync"],
    ] as const;
    let result: Result;
    beforeAll(() => {
      const breaks = imports.map(
        ([, path, from, name]): Break => [path, prepend(`import { ${name} } from "${from}";\n${name};`)],
      );
      result = broken(breaks, compile);
    });

    it.each(imports)("%s", (_, path, from) => {
      expect(result.status).not.toBe(0);
      const ofFile = result.output.split(/^(?=\S)/m).filter((each) => each.startsWith(`${path}(1,`));
      expect(ofFile.join("")).toMatch(from === "node:fs" ? /TS\d+: .*node:fs/ : /TS6307|TS6059/);
    });
  });

  describe("refuses", () => {
    const replace =
      (from: string, to: string) =>
      (text: string): string =>
        text.replace(from, to);
    const mistakes = [
      [
        "a row whose handler is missing",
        ["src/domain/system/handlers.ts", replace("getSystemInfo: () => host.info(),", "")],
        /getSystemInfo.*missing|missing.*getSystemInfo/s,
      ],
      [
        "an answer with a field of the wrong type",
        ["src/domain/health/handlers.ts", replace("status: worse(last.status, runner.verdict()),", 'status: "fine",')],
        /"fine"/,
      ],
      [
        "an error of an operation that no test provokes",
        ["src/contract/system.ts", replace('errors: ["UNAVAILABLE"]', 'errors: ["UNAVAILABLE", "CONFLICT"]')],
        /errors\.api\.test\.ts.*CONFLICT/s,
      ],
    ] as const satisfies readonly (readonly [string, Break, RegExp])[];
    let result: Result;
    beforeAll(() => {
      result = broken(
        mistakes.map(([, each]) => each),
        compile,
      );
    });

    it.each(mistakes)("%s", (_, __, complaint) => {
      expect(result.status).not.toBe(0);
      expect(result.output).toMatch(complaint);
    });
  });

  // Each makes a table that is none, of which nothing else can be told; it alone is looked at, for everything is built on it.
  const withTable = (change: (text: string) => string): Result =>
    broken([["src/contract/system.ts", change]], ["tsc", "-b", "src/contract"]);

  it("refuses an operation without a scope", () => {
    const { status, output } = withTable((text) => text.replace('    scope: "system:read",\n', ""));
    expect(status).not.toBe(0);
    expect(output).toMatch(/'scope' is missing/);
  });

  it("refuses a scope that does not exist", () => {
    const { status, output } = withTable((text) => text.replace('scope: "system:read"', 'scope: "system:write"'));
    expect(status).not.toBe(0);
    expect(output).toContain("system:write");
  });
});

describe("the style gates", () => {
  describe("refuse", () => {
    const long = `export const long = () => {${"\n  long();".repeat(81)}\n};`;
    const again = 'import { createHttpServer } from "./server.ts";\nexport const again = createHttpServer;';
    const lines = [
      ["console", "src/telemetry/metrics.ts", 'console.log("x");', "noConsole"],
      ["a default export", "src/telemetry/otlp.ts", "export default 1;", "noDefaultExport"],
      ["any", "src/telemetry/logger.ts", "export const x: any = 1;", "noExplicitAny"],
      ["an enum", "src/telemetry/line-writer.ts", "export enum X { a }", "noEnum"],
      ["a timer in the domain", "src/domain/common/error.ts", "setTimeout(() => undefined, 1);", "noRestrictedGlobals"],
      ["a function over 80 lines", "src/cli/core/errors.ts", long, "noExcessiveLinesPerFunction"],
      ["a cycle of imports", "src/transports/http/outcome.ts", again, "noImportCycles"],
    ] as const;
    let result: Result;
    beforeAll(() => {
      const breaks = lines.map(([, path, line]): Break => [path, prepend(line)]);
      result = broken(breaks, ["biome", "check", "--error-on-warnings", "--max-diagnostics=none", "src"]);
    });

    it.each(lines)("%s", (_, path, __, rule) => {
      expect(result.status).not.toBe(0);
      const ofFile = result.output.split("\n").filter((each) => each.startsWith(`${path}:`));
      expect(ofFile).toContainEqual(expect.stringContaining(rule));
    });
  });

  it("refuse a promise that nobody waits for", () => {
    const lost: Break = ["src/adapters/procfs/index.ts", (text) => `${text}\nPromise.reject(new Error("lost"));\n`];
    const { status, output } = broken([lost], ["oxlint", "--type-aware", "--deny-warnings", "src/adapters/procfs"]);
    expect([status === 0, output]).toEqual([false, expect.stringContaining("no-floating-promises")]);
  });

  it("refuse code that nothing uses", () => {
    const unused: Break = ["src/domain/common/error.ts", prepend("export const unusedByAll = 1;")];
    const { status, output } = broken([unused], ["knip"]);
    expect([status === 0, output]).toEqual([false, expect.stringContaining("unusedByAll")]);
  });

  it("refuse an import from one part of a layer to another", () => {
    const breaks = [
      ["src/domain/system/handlers.ts", prepend('import { allows } from "#domain/access/scopes.ts";')],
      ["src/adapters/procfs/index.ts", prepend('import { ownServiceUnit } from "../systemd/index.ts";')],
    ] as const satisfies readonly Break[];
    const { status, output } = broken(breaks, ["vitest", "run", "test/invariants/layers.test.ts", "-t", "apart"]);
    expect(status).not.toBe(0);
    for (const [path] of breaks) expect(output).toContain(`${path} imports src/`);
  });

  it("refuse generated files that are not what the sources make", () => {
    const stale: Break = ["docs/reference/openapi.json", (text) => text.replace("Host information", "Host facts")];
    const { status, output } = broken([stale], ["node", "scripts/generate.ts", "--check"]);
    expect([status === 0, output]).toEqual([false, expect.stringContaining("docs/reference/openapi.json")]);
  });
});
