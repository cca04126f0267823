import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { bundleProgram } from "./package/bundle.ts";
import { makeClient } from "./package/client/index.ts";
import { makeDeb } from "./package/deb.ts";
import { openRelease, type ProgramNode, pinnedNode, systemNode } from "./package/node.ts";
import { manifest, root } from "./package/project.ts";
import { run } from "./package/run.ts";
import { writeProgram } from "./package/tree.ts";

const help = `usage: npm run package [-- OPTION ...]

Builds dist/${manifest.name}_<version>_<architecture>.deb for the kind of processor of this machine.

  --version VERSION  instead of that of package.json
  --outdir DIR       instead of dist
  --level N          of compression, 0 to 9: 6 unless given, less is quicker
  --program DIR      writes what runs into DIR instead, without Node and without a package
  --with FILE        into DIR/drivers also a program of tests, as often as given
  --client           builds dist/steward-client-<version>.tgz instead, the client for other programs, which npm installs
  --system-node      brings no Node: depends on the distribution's, nodejs (${manifest.engines.node})
  --node-release FILE --node-sums FILE --node-keyring FILE
                     brings, instead of the Node of the lockfile, a release of its makers (node-v….tar.xz) that their SHASUMS256.txt.asc
                     lists, signed by one of the keys in the keyring; says whether the Node of the lockfile is the same (needs gpgv)

Needs dpkg-deb, strip (apt-get install dpkg binutils) and npm. SOURCE_DATE_EPOCH is the time that the package is from, that of
the last commit unless given.
`;

/** The time that the package is from: any other would make other bytes of the same sources. */
function epoch(): number {
  const given = process.env["SOURCE_DATE_EPOCH"];
  if (given !== undefined && given !== "") {
    if (!/^\d{1,10}$/.test(given))
      throw new Error(`cannot use SOURCE_DATE_EPOCH ${given}: it must be seconds since 1970`);
    return Number(given);
  }
  return Number(run(["git", "log", "-1", "--format=%ct"], { cwd: root }).trim());
}

const { values } = parseArgs({
  options: {
    help: { type: "boolean" },
    version: { type: "string" },
    outdir: { type: "string" },
    level: { type: "string" },
    program: { type: "string" },
    with: { type: "string", multiple: true, default: [] },
    client: { type: "boolean" },
    "system-node": { type: "boolean" },
    "node-release": { type: "string" },
    "node-sums": { type: "string" },
    "node-keyring": { type: "string" },
  },
});

/** Chooses the Node of the package, builds, and leaves nothing behind. */
async function withNode<T>(build: (node: ProgramNode) => Promise<T>): Promise<T> {
  const { "node-release": archive, "node-sums": sums, "node-keyring": keyring } = values;
  const isSystem = values["system-node"] === true;
  const given = [archive, sums, keyring].filter((each) => each !== undefined).length;
  if (given > 0 && isSystem) throw new Error("cannot build: choose --system-node or --node-release");
  if (isSystem) return build(systemNode());
  if (given === 0) return build(pinnedNode());
  if (archive === undefined || sums === undefined || keyring === undefined)
    throw new Error("cannot build: --node-release, --node-sums and --node-keyring are given together");
  const release = openRelease({ archive, sums, keyring });
  try {
    console.log(
      `the Node of the lockfile is ${release.isPinned ? "the same, byte for byte, as" : "not"} that of ${archive}`,
    );
    return await build(release.node);
  } finally {
    release.dispose();
  }
}

if (values.help === true) {
  console.log(help);
} else {
  const { version = manifest.version, outdir = join(root, "dist"), level = "6" } = values;
  if (!/^\d[A-Za-z0-9.+~]*$/.test(version))
    throw new Error(`cannot use the version ${version}: Debian would not take it`);
  if (!/^\d$/.test(level)) throw new Error(`cannot use the level ${level}: it must be 0 to 9`);
  if (values.program !== undefined) {
    await writeProgram(values.program, { version });
    const drivers = Object.fromEntries(values.with.map((path) => [basename(path, ".ts"), path]));
    if (values.with.length > 0) await bundleProgram(join(values.program, "drivers"), version, drivers);
    console.log(values.program);
  } else if (values.client === true) {
    const path = await makeClient({ version, outdir });
    console.log(`${path} (${(statSync(path).size / 1024).toFixed(1)} KiB)`);
  } else {
    const path = await withNode((node) =>
      makeDeb({ version, outdir, epochSeconds: epoch(), node, level: Number(level) }),
    );
    console.log(`${path} (${(statSync(path).size / 1024 / 1024).toFixed(1)} MiB)`);
  }
}
