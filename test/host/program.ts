import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Log, plainEnvironment, runCommand } from "./commands.ts";
import { withLock } from "./lock.ts";

const checkout = fileURLToPath(new URL("../..", import.meta.url));
/** Where a guest has the checkout. */
const inGuest = "/opt/steward";
const directoryBelow = "node_modules/.cache/program";
/** What tests run inside beside the program, see `driver`. */
const drivers = ["run-check", "run-operations", "run-packages", "run-plugin", "run-snapshots"] as const;
const driverSources = drivers.map((name) => `test/host/support/${name}.ts`);
/** What decides what the program is. */
const sources = [
  ...driverSources,
  "src",
  "web",
  "deploy/observability",
  "deploy/debian/main.js",
  "scripts/package",
  "package-lock.json",
];
/** Those of other sources go after this time, as no test takes so long. */
const keptMs = 6 * 60 * 60 * 1000;

/** Node and the program, as they are reached in a guest in which it is installed. */
export const installedPrograms = ["/opt/steward/node_modules/.bin/node", "/opt/steward-program/main.js"] as const;

/** A program of `support/` inside: the words that run it, bundled as the service is, since each start from the sources takes a second. */
export const driver = (name: (typeof drivers)[number]): readonly [node: string, script: string] => [
  installedPrograms[0],
  `${dirname(installedPrograms[1])}/drivers/${name}.js`,
];

let made: Promise<string> | undefined;

/**
 * Builds what runs in guests, unless it was built before: the program as the package has it, with the Node of the checkout.
 * @returns what installs it in a guest, for root and for the user of the service if it is there, as a script for `sh -c`.
 */
export function ensureProgram(log: Log): Promise<string> {
  made ??= makeProgram(log);
  return made;
}

async function makeProgram(log: Log): Promise<string> {
  const key = await sourceKey();
  const programs = join(checkout, directoryBelow);
  const directory = join(programs, key);
  await mkdir(programs, { recursive: true });
  await withLock(join(programs, "build.lock"), log, async () => {
    if (!(await exists(directory))) await build(directory, `${directoryBelow}/${key}`, log);
    await removeOld(programs, key);
  });
  const inside = `${inGuest}/${directoryBelow}/${key}`;
  const kept = "/var/cache/steward-code";
  return `
    set -e
    ln -sfn ${inside} ${dirname(installedPrograms[1])}
    mkdir -p ${kept}
    for directory in ${inside}/code/*-0; do
      name=\${directory##*/}
      ln -sfn "$directory" "${kept}/$name"
      ln -sfn "$directory" "${kept}/\${name%-0}-$(id -u steward 2>/dev/null || echo 0)"
    done`;
}

async function build(directory: string, below: string, log: Log): Promise<void> {
  const startedAt = performance.now();
  const work = `${directory}.new`;
  await rm(work, { recursive: true, force: true });
  const withDrivers = driverSources.flatMap((path) => ["--with", path]);
  await runCommand([process.execPath, join(checkout, "scripts/package.ts"), "--program", work, ...withDrivers], {
    env: { ...plainEnvironment, PATH: `${join(checkout, "node_modules/.bin")}:${plainEnvironment["PATH"]}` },
    timeoutMs: 5 * 60_000,
  });
  await rename(work, directory);
  await compile(directory, below);
  log(`built the program in ${Math.round((performance.now() - startedAt) / 1000)} s`);
}

/** Node keeps compiled code by the path of what it is of: made where the path is that of the guest, in mounts that nobody else has. */
async function compile(directory: string, below: string): Promise<void> {
  const program = `${inGuest}/${below}`;
  const script = `
    set -e
    cd '${checkout}'
    mount -t tmpfs steward /opt
    mkdir ${inGuest}
    mount --bind . ${inGuest}
    export NODE_COMPILE_CACHE=${program}/code
    node=${inGuest}/node_modules/.bin/node
    $node ${program}/program/compile.js
    $node ${program}/main.js --version >/dev/null
    chmod -R a+rX ${program}/code`;
  try {
    await runCommand(["unshare", "--mount", "sh", "-c", script]);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function sourceKey(): Promise<string> {
  const hash = createHash("sha256");
  for (const source of sources) {
    for (const path of await filesOf(join(checkout, source))) {
      if (!path.endsWith(".test.ts"))
        hash
          .update(`${path}\0`)
          .update(await readFile(path))
          .update("\0");
    }
  }
  return hash.digest("hex").slice(0, 12);
}

async function filesOf(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

async function removeOld(programs: string, current: string): Promise<void> {
  const now = new Date();
  await utimes(join(programs, current), now, now);
  for (const name of await readdir(programs)) {
    const path = join(programs, name);
    if (/^[0-9a-f]{12}/.test(name) && now.getTime() - (await stat(path)).mtimeMs > keptMs)
      await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
