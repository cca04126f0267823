import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { filesBelow, read, root } from "./project.ts";

/** A copy of the project to break: what the gates say of it shows that they bite. */
let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "steward-gates-"));
  for (const name of [
    "src",
    "test",
    "scripts",
    "bench",
    "docs",
    "package.json",
    "tsconfig.json",
    "tsconfig.base.json",
    "biome.json",
    ".oxlintrc.json",
    "knip.json",
    "vitest.config.ts",
    ".gitignore",
  ]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  // The compiler's output goes below node_modules, which the copy shares, so it gets a place of its own.
  for (const path of ["src", "test"].flatMap(filesBelow).filter((each) => each.endsWith("tsconfig.json"))) {
    writeFileSync(join(copy, path), read(path).replaceAll("node_modules/.cache/tsc", ".tsc"));
  }
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const run = (argv: readonly [string, ...string[]]): { status: number | null; output: string } => {
  const [program, ...args] = argv;
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: copy, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
};

/** Changes a file for as long as the gate runs. */
function broken(path: string, change: (text: string) => string, gate: readonly [string, ...string[]]) {
  const file = join(copy, path);
  const before = readFileSync(file, "utf8");
  const after = change(before);
  expect([path, after === before]).toEqual([path, false]);
  writeFileSync(file, after);
  try {
    return run(gate);
  } finally {
    writeFileSync(file, before);
  }
}

const prepend = (line: string) => (text: string) => `${line}\n${text}`;
const compile = ["tsc", "-b"] as const;

describe("the compiler", () => {
  it("accepts the project as it is", () => {
    expect(run(compile)).toEqual({ status: 0, output: "" });
  });

  it.each([
    [
      "the domain importing an adapter by its name",
      "src/domain/system/unit-name.ts",
      'import { exec } from "#adapters/exec/index.ts";\nexec;',
    ],
    [
      "the domain importing an adapter by its path",
      "src/domain/system/unit-name.ts",
      'import { exec } from "../../adapters/exec/index.ts";\nexec;',
    ],
    [
      "one part of the domain importing another",
      "src/domain/system/unit-name.ts",
      'import { allows } from "#domain/access/scopes.ts";\nallows;',
    ],
    [
      "the contract importing the domain",
      "src/contract/limits.ts",
      'import { invalid } from "#domain/kernel/error.ts";\ninvalid;',
    ],
    [
      "an adapter importing its sibling",
      "src/adapters/procfs/index.ts",
      'import { ownServiceUnit } from "#adapters/systemd/index.ts";\nownServiceUnit;',
    ],
    [
      "a transport importing an adapter",
      "src/transports/http/guard.ts",
      'import { systemClock } from "#adapters/clock/index.ts";\nsystemClock;',
    ],
    [
      "the command line importing the domain",
      "src/cli/output.ts",
      'import { invalid } from "#domain/kernel/error.ts";\ninvalid;',
    ],
  ])("refuses %s", (_, path, line) => {
    const { status, output } = broken(path, prepend(line), compile);
    expect(status).not.toBe(0);
    expect(output).toMatch(/TS6307|TS6059/);
  });

  it.each(["src/contract/limits.ts", "src/domain/kernel/error.ts", "src/client/index.ts"])(
    "refuses Node in %s",
    (path) => {
      const { status, output } = broken(
        path,
        prepend('import { readFileSync } from "node:fs";\nreadFileSync;'),
        compile,
      );
      expect([status === 0, output]).toEqual([false, expect.stringContaining("node:fs")]);
    },
  );

  it("refuses a row whose handler is missing", () => {
    const { output } = broken(
      "src/domain/system/handlers.ts",
      (text) => text.replace("getSystemInfo: () => host.info(),", ""),
      compile,
    );
    expect(output).toMatch(/getSystemInfo.*missing|missing.*getSystemInfo/s);
  });

  it("refuses an answer with a field of the wrong type", () => {
    const { output } = broken(
      "src/domain/health/handlers.ts",
      (text) => text.replace("status: overallStatus(components, runner.verdict()),", 'status: "fine",'),
      compile,
    );
    expect(output).toContain('"fine"');
  });

  it("refuses an operation without a scope", () => {
    const { output } = broken(
      "src/contract/system.ts",
      (text) => text.replace('    scope: "system:read",\n', ""),
      compile,
    );
    expect(output).toMatch(/'scope' is missing/);
  });

  it("refuses a scope that does not exist", () => {
    const { output } = broken(
      "src/contract/system.ts",
      (text) => text.replace('scope: "system:read"', 'scope: "system:write"'),
      compile,
    );
    expect(output).toContain("system:write");
  });

  it("refuses an error of an operation that no test provokes", () => {
    const { output } = broken(
      "src/contract/system.ts",
      (text) => text.replace('errors: ["UNAVAILABLE"]', 'errors: ["UNAVAILABLE", "CONFLICT"]'),
      compile,
    );
    expect(output).toMatch(/errors\.api\.test\.ts.*CONFLICT/s);
  });
});

describe("the style gates", () => {
  const biome = ["biome", "check", "--error-on-warnings", "src"] as const;
  const oxlint = ["oxlint", "--type-aware", "--deny-warnings", "src"] as const;

  it.each([
    ["console", "src/telemetry/metrics.ts", 'console.log("x");', "noConsole"],
    ["a default export", "src/telemetry/metrics.ts", "export default 1;", "noDefaultExport"],
    ["any", "src/telemetry/metrics.ts", "export const x: any = 1;", "noExplicitAny"],
    ["an enum", "src/telemetry/metrics.ts", "export enum X { a }", "noEnum"],
    ["a timer in the domain", "src/domain/kernel/error.ts", "setTimeout(() => undefined, 1);", "noRestrictedGlobals"],
  ])("refuse %s", (_, path, line, rule) => {
    const { status, output } = broken(path, prepend(line), biome);
    expect([status === 0, output]).toEqual([false, expect.stringContaining(rule)]);
  });

  it("refuse a cycle of imports", () => {
    const line = 'import { createHttpServer } from "./server.ts";\nexport const again = createHttpServer;';
    const { status, output } = broken("src/transports/http/record.ts", prepend(line), biome);
    expect([status === 0, output]).toEqual([false, expect.stringContaining("noImportCycles")]);
  });

  it("refuse a promise that nobody waits for", () => {
    const { status, output } = broken(
      "src/adapters/procfs/index.ts",
      (text) => `${text}\nPromise.reject(new Error("lost"));\n`,
      oxlint,
    );
    expect([status === 0, output]).toEqual([false, expect.stringContaining("no-floating-promises")]);
  });

  it("refuse code that nothing uses", () => {
    const { status, output } = broken("src/domain/kernel/error.ts", prepend("export const unusedByAll = 1;"), ["knip"]);
    expect([status === 0, output]).toEqual([false, expect.stringContaining("unusedByAll")]);
  });

  it("refuse generated files that are not what the sources make", () => {
    const check = ["node", "scripts/generate.ts", "--check"] as const;
    const { status, output } = broken(
      "docs/reference/openapi.json",
      (text) => text.replace("Host information", "Host facts"),
      check,
    );
    expect([status === 0, output]).toEqual([false, expect.stringContaining("docs/reference/openapi.json")]);
  });
});
