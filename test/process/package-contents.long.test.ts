import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sbom } from "../../scripts/package/sbom.ts";
import { runCommand } from "../host/commands.ts";
import { buildDeb, ensureDeb, missingForPackages } from "../host/support/deb.ts";
import { runProgram } from "./support/program.ts";
import { createWorkspace } from "./support/workspace.ts";

const version = "0.1.0";
const buildMs = 600_000;
const missing = missingForPackages();
if (missing !== undefined) process.stdout.write(`skipped: the package: ${missing}\n`);

describe.skipIf(missing !== undefined)("the Debian package", () => {
  const workspace = createWorkspace();
  const tree = workspace.path("tree");
  let deb = "";
  beforeAll(async () => {
    const directory = await ensureDeb(version);
    const [name = ""] = readdirSync(directory);
    deb = join(directory, name);
    mkdirSync(tree);
    await runProgram(workspace, ["dpkg-deb", "--extract", deb, tree]);
  }, buildMs);
  afterAll(workspace.dispose);

  it("has a well-formed CycloneDX list of its components", () => {
    const sbom = JSON.parse(readFileSync(join(tree, "usr/share/doc/steward/sbom.json"), "utf8")) as Sbom;
    const refs = sbom.components.map((component) => component["bom-ref"]);
    expect(new Set(refs).size).toBe(refs.length);
    expect(sbom.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(sbom.components.filter(({ purl }) => !purl.startsWith("pkg:npm/"))).toEqual([]);
    const known = new Set([...refs, sbom.metadata.component["bom-ref"]]);
    const edges = sbom.dependencies.flatMap(({ ref, dependsOn = [] }) => [ref, ...dependsOn]);
    expect(edges.filter((ref) => !known.has(ref))).toEqual([]);
    // What runs is listed, what only develops is not.
    const names = sbom.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["fastify", "undici", "yaml", "@fastify/swagger-ui"]));
    expect(names).not.toContain("vitest");
  });

  it("has no path of the machine that built it, and no file that others may write", () => {
    const entries = readdirSync(tree, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = entries.map((entry) => join(entry.parentPath, entry.name));
    const root = process.cwd();
    const texts = paths.filter((path) => !path.endsWith("/node") && !path.endsWith(".gz"));
    expect(texts.filter((path) => readFileSync(path, "utf8").includes(`${root}/`))).toEqual([]);
    expect(paths.filter((path) => (statSync(path).mode & 0o022) !== 0)).toEqual([]);
  });

  it("has the same bytes whenever and wherever it is built", { timeout: buildMs }, async () => {
    const digest = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
    expect(digest(await buildDeb(version, workspace.path("again")))).toBe(digest(deb));
  });

  it("has no error or warning of lintian", { timeout: buildMs }, async () => {
    if (!existsSync("/usr/bin/lintian")) {
      process.stdout.write("skipped: what lintian says: it is not installed (apt-get install lintian)\n");
      return;
    }
    const argv = ["lintian", "--allow-root", "--fail-on", "error,warning", deb];
    const { exitCode, stdout } = await runCommand(argv, { timeoutMs: buildMs, allowFailure: true });
    expect([exitCode, stdout]).toEqual([0, ""]);
  });
});
