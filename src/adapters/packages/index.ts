import { existsSync, readFileSync, realpathSync } from "node:fs";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { Probe } from "#domain/ports/probe.ts";
import type { Clock } from "#kernel/clock.ts";

const known = [
  { name: "apt", argv: ["/usr/bin/dpkg-query", "--show", "dpkg"] },
  { name: "dnf", argv: ["/usr/bin/rpm", "--query", "rpm"] },
  { name: "zypper", argv: ["/usr/bin/rpm", "--query", "rpm"] },
  { name: "pacman", argv: ["/usr/bin/pacman", "--query", "pacman"] },
] as const;

const programs: Readonly<Record<(typeof known)[number]["name"], string>> = {
  apt: "/usr/bin/apt-get",
  dnf: "/usr/bin/dnf",
  zypper: "/usr/bin/zypper",
  pacman: "/usr/bin/pacman",
};

const osRelease = "/etc/os-release";
/** Whether a host is of the SUSE family: dnf can be installed there as well, and is a guest. */
const isSuse = (): boolean =>
  existsSync(osRelease) && /^ID(?:_LIKE)?=.*\bsuse\b|^ID=.*\bsle/m.test(readFileSync(osRelease, "utf8"));

function findManager(): (typeof known)[number] | undefined {
  const found = known.filter(({ name, argv }) => existsSync(programs[name]) && existsSync(argv[0]));
  const zypper = found.find(({ name }) => name === "zypper");
  return zypper !== undefined && found[0]?.name === "dnf" && isSuse() ? zypper : found[0];
}

/** Its fifth version is another program of the same name: words, output and history are different. */
const isDnf5 = (): boolean => realpathSync(programs.dnf).endsWith("dnf5");

/** The packages of this host, through the manager that it has: apt, dnf up to its fourth version, zypper or pacman. */
export async function createHostPackageManager(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly stateDir?: string;
  readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
}): Promise<PackageManager | undefined> {
  const name = findManager()?.name;
  if (name === "apt") return (await import("./apt/index.ts")).createApt(ports);
  if (name === "pacman") return (await import("./pacman/index.ts")).createPacman(ports);
  if (name === "zypper") return (await import("./zypper/index.ts")).createZypper(ports);
  if (name === "dnf" && !isDnf5()) return (await import("./dnf/index.ts")).createDnf(ports);
  return undefined;
}

/** Whether the host's package manager answers; not expected on a host that has none. */
export function createPackageManagerProbe({ exec }: { exec: Exec }): Probe {
  const manager = findManager();
  return async (signal) => {
    if (manager === undefined) return { healthy: false, expected: false, reason: "no package manager on this host" };
    const { exitCode, stderr } = await exec(manager.argv, { signal, timeoutMs: 10_000 });
    if (exitCode === 0) return { healthy: true, expected: true };
    return { healthy: false, expected: true, reason: `${manager.name} does not answer: ${stderr.trim()}` };
  };
}
