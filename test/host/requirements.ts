import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { plainEnvironment } from "./commands.ts";

/** Programs, and the Debian package that has each. */
export type Tools = Readonly<Record<string, string>>;

/** What the tests on a real host call. */
const tools: Tools = {
  "systemd-nspawn": "systemd-container",
  mmdebstrap: "mmdebstrap",
  "mkfs.btrfs": "btrfs-progs",
  btrfstune: "btrfs-progs",
  btrfs: "btrfs-progs",
  "mkfs.ext4": "e2fsprogs",
  nsenter: "util-linux",
  unshare: "util-linux",
  setpriv: "util-linux",
  flock: "util-linux",
  findmnt: "util-linux",
  fstrim: "util-linux",
};

/** What keeps a test host that needs `more` tools from running on this machine, each with its remedy; empty when all is there. */
export function missingRequirements(more: Tools = {}): string[] {
  if (process.platform !== "linux") return [`Linux (this is ${process.platform}: run the tests on a Linux machine)`];
  const missing: string[] = [];
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) missing.push("root (run the tests with sudo)");
  const absent = Object.entries({ ...tools, ...more }).filter(([tool]) => !hasTool(tool));
  if (absent.length > 0) {
    const packages = [...new Set(absent.map(([, name]) => name))];
    missing.push(`${absent.map(([tool]) => tool).join(", ")} (apt-get install ${packages.join(" ")})`);
  }
  if (process.execve === undefined) missing.push("process.execve (use Node 22.15 or later)");
  // Whether modules can be loaded shows only to root; others get that first.
  if (isRoot && !existsSync("/dev/loop-control") && !loadModule("loop")) missing.push("loop devices (modprobe loop)");
  if (isRoot && !knowsBtrfs() && !(loadModule("btrfs") && knowsBtrfs()))
    missing.push("btrfs in the kernel (modprobe btrfs)");
  return missing;
}

/**
 * Whether tests on a real host can run here.
 * @throws in CI (`CI=true`), where skipping them would go unnoticed.
 */
export function requireHost(
  env: NodeJS.ProcessEnv = process.env,
  more: Tools = {},
): { available: true } | { available: false; reason: string } {
  const missing = missingRequirements(more);
  if (missing.length === 0) return { available: true };
  const reason = `missing: ${missing.join("; ")}`;
  if (env.CI === "true") throw new Error(`cannot run the host tests: ${reason}`);
  return { available: false, reason };
}

function hasTool(name: string): boolean {
  return (plainEnvironment.PATH ?? "").split(":").some((directory) => existsSync(join(directory, name)));
}

function knowsBtrfs(): boolean {
  return /^\s*btrfs$/m.test(readFileSync("/proc/filesystems", "utf8"));
}

function loadModule(name: string): boolean {
  return spawnSync("modprobe", ["--quiet", name], { env: plainEnvironment }).status === 0;
}
