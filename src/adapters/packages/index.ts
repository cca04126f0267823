import { existsSync } from "node:fs";
import type { Exec } from "#adapters/exec/index.ts";
import type { Probe } from "#domain/health/ports.ts";

/** Package managers that are looked for, in this order: the program, and a question that it answers at once. */
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

/** Whether the host's package manager answers; not expected on a host that has none. */
export function createPackageManagerProbe({ exec }: { exec: Exec }): Probe {
  const manager = known.find(({ name, argv }) => existsSync(programs[name]) && existsSync(argv[0]));
  return async (signal) => {
    if (manager === undefined) return { healthy: false, expected: false, reason: "no package manager on this host" };
    const { exitCode, stderr } = await exec(manager.argv, { signal, timeoutMs: 10_000 });
    if (exitCode === 0) return { healthy: true, expected: true };
    return { healthy: false, expected: true, reason: `${manager.name} does not answer: ${stderr.trim()}` };
  };
}
