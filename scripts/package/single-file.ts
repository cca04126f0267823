import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { libFolder } from "./installed.ts";
import type { ProgramNode } from "./node.ts";
import { manifest, root } from "./project.ts";
import { run } from "./run.ts";
import { installProgram } from "./tree.ts";

/** Node looks for this in itself to know whether there is a program inside (nodejs.org/api/single-executable-applications). */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** Threads are started from the inside, too. */
function withWorkersFromInside(path: string): void {
  const text = readFileSync(path, "utf8");
  const changed = text.replaceAll(
    /new ([\w$]+)\((new URL\("[^"]+",import\.meta\.url\)),\{/g,
    (_, worker: string, url: string) => `new ${worker}(globalThis.stewardWorker(${url}),{eval:!0,`,
  );
  if (changed !== text) writeFileSync(path, changed);
}

/**
 * Builds one executable with Node and the whole program inside.
 * @returns its path.
 */
export async function makeSingleFile(options: {
  readonly version: string;
  readonly outdir: string;
  readonly epochSeconds: number;
  readonly node: ProgramNode;
}): Promise<string> {
  const { version, outdir, epochSeconds, node } = options;
  const work = mkdtempSync(join(tmpdir(), "steward-single-"));
  try {
    await installProgram(work, { version, epochSeconds, node });
    const lib = join(work, libFolder);
    const entries = readdirSync(lib, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const inside = paths.filter((path) => path !== join(lib, "node")).sort();
    for (const path of inside.filter((each) => each.startsWith(join(lib, "program")))) withWorkersFromInside(path);
    const start = join(root, "scripts/package/single-file-start.cjs");
    const names = inside.map((path) => relative(lib, path));
    writeFileSync(join(work, "names.json"), JSON.stringify(names));
    const assets = Object.fromEntries(inside.map((path) => [relative(lib, path), path]));
    const output = join(work, "program.blob");
    const config = {
      main: start,
      output,
      disableExperimentalSEAWarning: true,
      assets: { ...assets, "start.cjs": start, "names.json": join(work, "names.json") },
    };
    writeFileSync(join(work, "sea.json"), JSON.stringify(config));
    run([process.execPath, "--experimental-sea-config", join(work, "sea.json")], { cwd: work });
    mkdirSync(outdir, { recursive: true });
    const path = join(outdir, `${manifest.name}-${process.arch}`);
    writeFileSync(path, readFileSync(join(lib, "node")));
    chmodSync(path, 0o755);
    run([join(root, "node_modules/.bin/postject"), path, "NODE_SEA_BLOB", output, "--sentinel-fuse", fuse]);
    return path;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
