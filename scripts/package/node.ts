import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { manifest, root } from "./project.ts";
import { run } from "./run.ts";
import { nodeDirectory, readThirdParty, type ThirdParty } from "./third-party.ts";

/** The Node that a package runs on. */
export interface ProgramNode {
  /** Puts it, or a link to it, at this path. */
  readonly install: (path: string) => void;
  /** What the package contains by it: nothing where the host has it. */
  readonly contents: readonly ThirdParty[];
  /** Debian packages that it needs. */
  readonly depends: string;
  /** A sentence for those who choose packages. */
  readonly description: string;
}

/** What a build by the makers of Node is linked with. */
const dependsOfBuild = "libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 5.2)";

/** The oldest Node that the program runs on. */
const oldest = manifest.engines.node.replace(/^>=/, "");

const isOlder = (version: string): boolean => version.localeCompare(oldest, "en", { numeric: true }) < 0;

const installFile =
  (from: string) =>
  (path: string): void => {
    run(["strip", "--strip-unneeded", "-o", path, from]);
  };

/** The one of the lockfile, which tests run on. */
export function pinnedNode(): ProgramNode {
  const directory = nodeDirectory();
  return {
    install: installFile(join(root, directory, "bin/node")),
    contents: readThirdParty([directory]),
    depends: dependsOfBuild,
    description: "This package brings the Node.js that the program is tested with.",
  };
}

/** The one of the host's distribution. */
export function systemNode(): ProgramNode {
  return {
    // Relative, as Debian has links within /usr: the path is that of usr/lib/steward/node.
    install: (path) => symlinkSync("../../bin/node", path),
    contents: [],
    depends: `nodejs (>= ${oldest})`,
    description: "It runs on the Node.js of the distribution.",
  };
}

export interface Release {
  /** `node-v<version>-linux-<processor>.tar.xz` or `.tar.gz`. */
  readonly archive: string;
  /** `SHASUMS256.txt.asc`: the sums with the signature around them. */
  readonly sums: string;
  /** The keys of those who may sign, as gpgv reads them. */
  readonly keyring: string;
}

/** The text within a signature that one of the keys made. */
function verifiedText({ sums, keyring }: Release, work: string): string {
  const output = join(work, "sums");
  run(["gpgv", "--keyring", resolve(keyring), "--output", output, resolve(sums)]);
  return readFileSync(output, "utf8");
}

/** A release whose signature holds, unpacked until it is disposed of. */
export interface OpenRelease {
  readonly node: ProgramNode;
  /** Whether the Node of the lockfile is, byte for byte, that of the release. */
  readonly isPinned: boolean;
  readonly dispose: () => void;
}

/**
 * Opens a release of the makers of Node.
 * @throws Error when the signature is not by one of the keys, or the archive is not what was signed.
 */
export function openRelease(release: Release): OpenRelease {
  const name = basename(release.archive);
  const [, top = "", version = "", processor] =
    /^(node-v(\d+\.\d+\.\d+)-linux-(\w+))\.tar\.(?:xz|gz)$/.exec(name) ?? [];
  if (processor !== process.arch)
    throw new Error(`cannot package ${name}: expected node-v<version>-linux-${process.arch}.tar.xz or .tar.gz`);
  if (isOlder(version)) throw new Error(`cannot package ${name}: the program needs Node ${oldest} or later`);
  const directory = mkdtempSync(join(tmpdir(), "steward-node-"));
  const dispose = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    const listed = verifiedText(release, directory)
      .split("\n")
      .flatMap((line) => (line.endsWith(`  ${name}`) ? [line.slice(0, line.indexOf(" "))] : []));
    if (listed.length !== 1) throw new Error(`cannot package ${name}: ${release.sums} does not list it`);
    // What was compared is what is unpacked.
    const archive = readFileSync(release.archive);
    const sum = createHash("sha256").update(archive).digest("hex");
    if (sum !== listed[0])
      throw new Error(`cannot package ${name}: its SHA-256 is ${sum}, but ${listed[0]} was signed`);
    const copy = join(directory, name);
    writeFileSync(copy, archive);
    run(["tar", "--extract", `--file=${copy}`, `--directory=${directory}`, `${top}/bin/node`, `${top}/LICENSE`]);
    const [program, licence] = ["bin/node", "LICENSE"].map((path) => join(directory, top, path)) as [string, string];
    const texts = [readFileSync(licence, "utf8").trim()];
    return {
      node: {
        install: installFile(program),
        contents: [{ name: "node", version, licence: "MIT", texts, purl: `pkg:generic/node@${version}` }],
        depends: dependsOfBuild,
        description: `This package brings Node.js ${version}, as its makers signed it.`,
      },
      isPinned: readFileSync(program).equals(readFileSync(join(root, nodeDirectory(), "bin/node"))),
      dispose,
    };
  } catch (error) {
    dispose();
    throw error;
  }
}
