import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { manifest, root } from "../project.ts";
import { run } from "../run.ts";
import { slimContract } from "./slim.ts";
import { clientTypes } from "./types.ts";

const here = join(root, "scripts/package/client");

/** Declarations that are those of the sources, but for where types of the contract are. */
export const declared: readonly string[] = ["chat", "errors", "events", "http", "stream"];

/** Declarations of the sources of the client, by the compiler. */
function copyDeclarations(directory: string): void {
  run([join(root, "node_modules/.bin/tsc"), "--build", join(root, "src/client")]);
  for (const name of declared) {
    const text = readFileSync(join(root, `node_modules/.cache/tsc/client/${name}.d.ts`), "utf8");
    const ours = text
      .replaceAll(/"#contract\/[\w-]+\.ts"/g, '"./types.js"')
      .replaceAll(/"\.\/([\w-]+)\.ts"/g, '"./$1.js"');
    writeFileSync(join(directory, `${name}.d.ts`), ours);
  }
}

function packageJson(version: string): string {
  const { description } = manifest;
  const content = {
    name: "steward-client",
    version,
    description: `Client for Steward. ${description}`,
    license: "Apache-2.0",
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}

/** Writes what the package holds into a directory: one module without dependencies, its declarations, a README. */
async function writeClient(directory: string, version: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: ["src/client/entry.ts"],
    outfile: join(directory, "index.js"),
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    minify: true,
    legalComments: "eof",
    logLevel: "warning",
    plugins: [slimContract],
  });
  copyDeclarations(directory);
  writeFileSync(join(directory, "types.d.ts"), await clientTypes());
  copyFileSync(join(here, "index.d.ts"), join(directory, "index.d.ts"));
  copyFileSync(join(here, "README.md"), join(directory, "README.md"));
  copyFileSync(join(root, "LICENSE"), join(directory, "LICENSE"));
  writeFileSync(join(directory, "package.json"), packageJson(version));
}

/**
 * Builds the package for npm.
 * @returns its path.
 */
export async function makeClient({ version, outdir }: { version: string; outdir: string }): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "steward-client-"));
  try {
    await writeClient(directory, version);
    mkdirSync(outdir, { recursive: true });
    const name = run(["npm", "pack", "--silent", "--pack-destination", outdir], { cwd: directory }).trim();
    return join(outdir, name);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
