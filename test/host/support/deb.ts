import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { noLog, plainEnvironment, runCommand } from "../commands.ts";
import { cacheDirectory } from "../image.ts";
import { withLock } from "../lock.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** What the package is made of, below the project. */
const ingredients = [
  "src",
  "web",
  "scripts/package",
  "scripts/package.ts",
  "scripts/man-pages.ts",
  "deploy",
  "examples",
];
const files = ["package-lock.json", "package.json", "CHANGELOG.md", "docs/reference/config.schema.json"];

/** The time that packages of tests are from. */
const epochSeconds = 1_700_000_000;
const buildTimeoutMs = 300_000;
/** Kept of earlier sources. */
const mostKept = 4;

function digestOf(version: string): string {
  const hash = createHash("sha256").update(version);
  const paths = ingredients.flatMap((name) => {
    if (name.endsWith(".ts")) return [name];
    const entries = readdirSync(join(root, name), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  });
  for (const path of [...paths, ...files].sort()) hash.update(`\0${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest("hex").slice(0, 16);
}

/** What building a package takes and is not here; in CI that is a failure. */
export function missingForPackages(): string | undefined {
  const tools = { "dpkg-deb": "dpkg", strip: "binutils" };
  const directories = (plainEnvironment["PATH"] ?? "").split(":");
  const missing = Object.entries(tools).filter(
    ([tool]) => !directories.some((directory) => existsSync(join(directory, tool))),
  );
  if (missing.length === 0) return undefined;
  const reason = `missing: ${missing.map(([tool, name]) => `${tool} (apt-get install ${name})`).join(", ")}`;
  if (process.env["CI"] === "true") throw new Error(`cannot build packages: ${reason}`);
  return reason;
}

async function build(outdir: string, args: readonly string[]): Promise<readonly string[]> {
  const script = join(root, "scripts/package.ts");
  const { PATH = "" } = process.env;
  // npm is beside the Node of the machine, wherever that is.
  const env = {
    ...plainEnvironment,
    PATH: `${PATH}:${plainEnvironment["PATH"]}`,
    SOURCE_DATE_EPOCH: String(epochSeconds),
  };
  await runCommand([process.execPath, script, "--outdir", outdir, ...args], { timeoutMs: buildTimeoutMs, env });
  return readdirSync(outdir).map((name) => join(outdir, name));
}

/** Builds the package, hardly compressed, into an empty directory. @returns its path. */
export async function buildDeb(version: string, outdir: string, options: readonly string[] = []): Promise<string> {
  const [path] = await build(outdir, ["--version", version, "--level", "0", ...options]);
  if (path === undefined) throw new Error(`cannot build steward ${version}: there is no package in ${outdir}`);
  return path;
}

/** The package of this version from the sources as they are, built once for all test files. @returns the directory it is in. */
export async function ensureDeb(version: string): Promise<string> {
  const all = join(cacheDirectory(), "debs");
  mkdirSync(all, { recursive: true });
  return withLock(join(all, ".lock"), noLog, async () => {
    const directory = join(all, `${version}-${digestOf(version)}`);
    if (existsSync(directory)) return directory;
    const earlier = readdirSync(all).filter((name) => !name.startsWith("."));
    const byAge = earlier.map((name) => ({ name, at: statSync(join(all, name)).mtimeMs })).sort((a, b) => b.at - a.at);
    for (const { name } of byAge.slice(mostKept)) rmSync(join(all, name), { recursive: true, force: true });
    const partial = `${directory}.${process.pid}`;
    await buildDeb(version, partial);
    renameSync(partial, directory);
    return directory;
  });
}
