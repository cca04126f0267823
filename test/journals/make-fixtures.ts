import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";
import { downloadEnvironment, findMirror } from "../host/mirror.ts";
import { createRandom } from "../support/random.ts";
import { everyday, start } from "./entries.ts";
import { encodeEntry, type Field, type NewEntry } from "./export-format.ts";
import { fixturesDirectory, hostFixtures } from "./fixture-files.ts";

/*
 * Writes the files of `hostFixtures` again, with the systemd-journal-remote of Debian 13: see README.md. It needs root and mmdebstrap,
 * and takes the directory of an installed Debian 13 that has the program, or installs one for the time.
 */

const hourMicros = 3_600_000_000;
const journalRemote = "/usr/lib/systemd/systemd-journal-remote";

function run(argv: readonly [string, ...string[]], options: { env?: Record<string, string>; input?: Buffer }): string {
  const [program, ...args] = argv;
  const { status, stderr, error } = spawnSync(program, args, { ...options, maxBuffer: 1 << 26 });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${argv.join(" ")}: exit ${status}, ${stderr.toString().slice(-2000)}`);
  return stderr.toString();
}

/** Debian 13 with the writer. */
async function installTree(root: string): Promise<void> {
  const mirror = await findMirror("trixie");
  const packages = "--include=systemd,systemd-journal-remote";
  const argv = ["mmdebstrap", "--variant=minbase", packages, "trixie", root, ...(mirror === undefined ? [] : [mirror])];
  run(argv as [string, ...string[]], { env: await downloadEnvironment() });
}

/** Two boots of a host, which begin in the same microsecond on each; every sixth message is packed. */
function entriesOf(position: number, host: string, machine: string): readonly NewEntry[] {
  const random = createRandom(257 + position);
  const own: readonly Field[] = [
    ["_HOSTNAME", host],
    ["_MACHINE_ID", machine],
  ];
  const clocks = [0, 1].map((at) => ({
    bootId: `${machine.slice(0, 30)}0${at + 1}`,
    realtime: start + at * 30 * hourMicros,
    monotonic: 1_000_000,
  }));
  return clocks
    .flatMap((clock) => everyday(random, clock, 40))
    .map((entry, at) => {
      const others = entry.fields.filter(([name]) => name !== "_HOSTNAME" && (at % 6 !== 0 || name !== "MESSAGE"));
      const packed = Array.from({ length: 60 }, () => `took ${random.integer(1000)} ms`).join(", ");
      const message: readonly Field[] = at % 6 === 0 ? [["MESSAGE", `request ${at} by ${host} ${packed}`]] : [];
      return { ...entry, fields: [...others, ...message, ...own] };
    });
}

const given = process.argv[2];
const tree = given ?? mkdtempSync(join(tmpdir(), "steward-trixie-"));
try {
  if (given === undefined) await installTree(tree);
  for (const [position, { name, compression, compact, keyedHash, host, machine }] of hostFixtures.entries()) {
    const file = "/tmp/fixture.journal";
    rmSync(join(tree, file), { force: true });
    const env = {
      LC_ALL: "C.UTF-8",
      SYSTEMD_JOURNAL_COMPRESS: compression,
      SYSTEMD_JOURNAL_COMPACT: compact ? "1" : "0",
      SYSTEMD_JOURNAL_KEYED_HASH: keyedHash ? "1" : "0",
    };
    const entries = entriesOf(position, host, machine);
    const input = Buffer.concat(entries.map(encodeEntry));
    const said = run(["/usr/sbin/chroot", tree, journalRemote, "--split-mode=none", "-o", file, "-"], { env, input });
    if (!said.includes(`after writing ${entries.length} entries`)) throw new Error(`${name}: ${said}`);
    const params = { [constants.ZSTD_c_compressionLevel]: 19 };
    const packed = zstdCompressSync(readFileSync(join(tree, file)), { params });
    writeFileSync(join(fixturesDirectory, `${name}.journal.zst`), packed);
    process.stdout.write(`${name}: ${packed.length} bytes\n`);
  }
} finally {
  if (given === undefined) rmSync(tree, { recursive: true, force: true });
}
