import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiBase } from "#contract/limits.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { root, startService } from "./support/service.ts";
import { createWorkspace, type Workspace } from "./support/workspace.ts";

const recipe = join(root, "test/generators");
const document = join(root, "docs/reference/openapi.json");

const asyncapi = join(root, "docs/reference/asyncapi.json");

interface Diagnostic {
  /** 0 an error, 1 a warning. */
  readonly severity: number;
}
const information = 2;

/** Those of which a client is used, each by the file of its name in the recipe. */
const used = ["openapi-typescript", "hey-api", "oazapfts", "orval-axios", "zod-client"] as const;

let workspace: Workspace;
let tools: string;
beforeAll(async () => {
  workspace = createWorkspace();
  tools = await installed();
  mkdirSync(workspace.path("generated"));
  for (const name of used) cpSync(join(recipe, `${name}.mts`), workspace.path(`${name}.mts`));
  // The generated code imports what it needs at run time from there.
  symlinkSync(join(tools, "node_modules"), workspace.path("node_modules"));
}, 600_000);
afterAll(() => workspace.dispose());

/** The directory of the generators, which are too large for every checkout: installed once for each lockfile. */
async function installed(): Promise<string> {
  const digest = createHash("sha256")
    .update(readFileSync(join(recipe, "package-lock.json")))
    .digest("hex")
    .slice(0, 16);
  const directory = join(root, "node_modules/.cache/generators", digest);
  if (existsSync(directory)) return directory;
  const making = `${directory}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) cpSync(join(recipe, file), join(making, file));
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, output } = await run("npm", ["ci", ...flags], making);
  expect([status, output]).toEqual([0, expect.any(String)]);
  try {
    renameSync(making, directory);
  } catch (error) {
    rmSync(making, { recursive: true });
    // Another run was first.
    if (!existsSync(directory)) throw error;
  }
  return directory;
}

async function run(program: string, args: readonly string[], cwd = workspace.path()) {
  const env = { ...process.env, DO_NOT_TRACK: "1", NO_UPDATE_NOTIFIER: "1", NO_COLOR: "1", CI: "1" };
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  workspace.adopt(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  await once(child, "close");
  return { status: child.exitCode, output };
}

const runTool = (tool: string, ...args: readonly string[]) =>
  run(process.execPath, [join(tools, "node_modules/.bin", tool), ...args]);

/** Else it takes members with a default for required, in requests too. */
const optional = ["--default-non-nullable", "false"];

/** Each generator with its arguments, and what it makes in the directory `generated`. */
const generators: readonly (readonly [made: string, tool: string, args: readonly string[]])[] = [
  ["openapi-typescript.ts", "openapi-typescript", [document, "-o", "generated/openapi-typescript.ts", ...optional]],
  ["hey-api/index.ts", "openapi-ts", ["-i", document, "-o", "generated/hey-api"]],
  ["oazapfts.ts", "oazapfts", [document, "generated/oazapfts.ts"]],
  ["zod-client.ts", "openapi-zod-client", [document, "-o", "generated/zod-client.ts"]],
  // Not its schemas of zod: they take another version of zod than openapi-zod-client.
  ...["fetch", "axios"].map((client) => {
    const made = `orval-${client}.ts`;
    return [made, "orval", ["--input", document, "--output", `generated/${made}`, "--client", client]] as const;
  }),
];

const compilerOptions = {
  noEmit: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noFallthroughCasesInSwitch: true,
  target: "es2022",
  module: "esnext",
  moduleResolution: "bundler",
  allowImportingTsExtensions: true,
  lib: ["es2024", "dom", "dom.iterable"],
  skipLibCheck: true,
  types: [],
};

/** And with nothing of 2xx or 3xx. */
const streamsAreAnsweredWith101 = {
  files: Object.values<Stream>(streams).map(({ path }) => `*#/paths/${`${apiBase}${path}`.replaceAll("/", "~1")}/get`),
  rules: { "operation-success-response": "off" },
};

describe("generators of clients", () => {
  it.each(generators)("generate with %s from the document", async (made, tool, args) => {
    const { status, output } = await runTool(tool, ...args);
    expect([status, existsSync(workspace.path("generated", made))], output).toEqual([0, true]);
  });

  it("generate code that compiles under strict settings, as does what uses it", async () => {
    const settings = { compilerOptions, include: ["generated/**/*.ts", "*.mts"] };
    writeFileSync(workspace.path("tsconfig.json"), JSON.stringify(settings));
    const { status, output } = await runTool("tsc", "-p", ".");
    expect([status, output]).toEqual([0, ""]);
  });

  it.each(used)("generate a client that works: %s", async (name) => {
    const { url, adminKey } = await startService(workspace);
    const outfile = workspace.path(`${name}.mjs`);
    const entry = workspace.path(`${name}.mts`);
    await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", logLevel: "silent" });
    const { use } = (await import(pathToFileURL(outfile).href)) as {
      use: (url: string, key: string) => Promise<unknown>;
    };
    expect(await use(url, adminKey)).toEqual({
      isHealthy: expect.any(Boolean),
      refusal: "NOT_FOUND",
      created: 201,
      // The answer held a secret, which is shown once.
      repeated: [409, "true"],
      steps: 1,
      scopes: ["system:read"],
    });
  });
});

it("the AsyncAPI document is valid for the AsyncAPI parser", async () => {
  const { Parser } = createRequire(join(tools, "package.json"))("@asyncapi/parser") as {
    Parser: new () => { parse: (text: string) => Promise<{ document?: object; diagnostics: readonly Diagnostic[] }> };
  };
  const { document: parsed, diagnostics } = await new Parser().parse(readFileSync(asyncapi, "utf8"));
  expect(parsed).toBeDefined();
  // It may say that there is a later version of AsyncAPI.
  expect(diagnostics.filter(({ severity }) => severity < information)).toEqual([]);
});

it("the OpenAPI document has no warning of spectral", async () => {
  const ruleset = workspace.path("spectral.json");
  writeFileSync(ruleset, JSON.stringify({ extends: ["spectral:oas"], overrides: [streamsAreAnsweredWith101] }));
  const { status, output } = await runTool(
    "spectral",
    "lint",
    document,
    "--ruleset",
    ruleset,
    "--fail-severity",
    "hint",
  );
  expect([status, output]).toEqual([0, expect.stringContaining("No results")]);
});
