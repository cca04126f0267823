import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { conffiles } from "./installed.ts";
import type { ProgramNode } from "./node.ts";
import { manifest, root } from "./project.ts";
import { run, say } from "./run.ts";
import { filledIn, makeTree } from "./tree.ts";

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const scripts = ["postinst", "prerm", "postrm"];

/** What Debian calls the kind of processor of this machine. */
function architecture(): string {
  const name = architectures[process.arch];
  if (name === undefined)
    throw new Error(`cannot package for ${process.arch}: x64 and arm64 are what there is a Node for`);
  return name;
}

interface Content {
  readonly files: readonly string[];
  /** As Debian counts: kibibytes, each file rounded up, each directory and link one. */
  readonly sizeKib: number;
}

function contentOf(tree: string): Content {
  const entries = readdirSync(tree, { withFileTypes: true, recursive: true });
  const paths = entries.map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }));
  const sizes = paths.map(({ path, isFile }) => (isFile ? Math.ceil(lstatSync(path).size / 1024) : 1));
  return {
    files: paths.flatMap(({ path, isFile }) => (isFile ? [relative(tree, path)] : [])).sort(),
    sizeKib: sizes.reduce((sum, size) => sum + size, 0),
  };
}

/** What dpkg has to know of the package. */
function writeControl(tree: string, version: string, node: ProgramNode): void {
  const { files, sizeKib } = contentOf(tree);
  const directory = join(tree, "DEBIAN");
  mkdirSync(directory, { mode: 0o755 });
  const write = (name: string, content: string, mode = 0o644): void => {
    writeFileSync(join(directory, name), content);
    chmodSync(join(directory, name), mode);
  };
  const words = {
    version,
    architecture: architecture(),
    installed_size: String(sizeKib),
    node_depends: node.depends,
    node_description: node.description,
  };
  write("control", filledIn("deploy/debian/control", words));
  write("conffiles", conffiles.map((path) => `${path}\n`).join(""));
  const sums = files
    .filter((path) => !conffiles.includes(`/${path}`))
    .map(
      (path) =>
        `${createHash("md5")
          .update(readFileSync(join(tree, path)))
          .digest("hex")}  ${path}\n`,
    );
  write("md5sums", sums.join(""));
  const shared = { end_logins: readFileSync(join(root, "deploy/debian/end-logins.sh"), "utf8") };
  for (const name of scripts) write(name, filledIn(`deploy/debian/${name}`, shared), 0o755);
}

/**
 * Builds the Debian package. The same sources, the same lockfile and the same time make the same bytes.
 * @returns its path.
 */
export async function makeDeb(options: {
  readonly version: string;
  readonly outdir: string;
  readonly epochSeconds: number;
  readonly node: ProgramNode;
  /** 0 to 9, of xz: less is quicker. */
  readonly level: number;
}): Promise<string> {
  const { version, outdir, epochSeconds, node, level } = options;
  const work = mkdtempSync(join(tmpdir(), "steward-package-"));
  try {
    const tree = join(work, manifest.name);
    await makeTree(tree, { version, epochSeconds, node });
    writeControl(tree, version, node);
    mkdirSync(outdir, { recursive: true });
    const path = join(outdir, `${manifest.name}_${version}_${architecture()}.deb`);
    say("compressing the package");
    // Owners, order and times are those of no machine.
    run(["dpkg-deb", "--root-owner-group", "-Zxz", `-z${level}`, "--build", tree, path], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds) },
    });
    return path;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
