import { existsSync, readFileSync } from "node:fs";
import { type PackageManager, type PackageManagerName, packageManagers } from "#domain/ports/packages.ts";
import type { Probe } from "#domain/ports/probe.ts";
import { apt } from "./apt/index.ts";
import type { Backend, ManagerPorts } from "./common/ports.ts";
import { dnf } from "./dnf/index.ts";
import { findImageTools, onImage } from "./image.ts";
import { pacman } from "./pacman/index.ts";
import { zypper } from "./zypper/index.ts";

export const backends: Readonly<Record<PackageManagerName, Backend>> = { apt, dnf, zypper, pacman };

const osRelease = "/etc/os-release";
/** Whether a host is of the SUSE family: dnf can be installed there as well, and is a guest. */
const isSuse = (): boolean =>
  existsSync(osRelease) && /^ID(?:_LIKE)?=.*\bsuse\b|^ID=.*\bsle/m.test(readFileSync(osRelease, "utf8"));

function findManager(): PackageManagerName | undefined {
  const isThere = ({ program, probe }: Backend): boolean => existsSync(program) && existsSync(probe[0]);
  const [first, ...others] = packageManagers.filter((name) => isThere(backends[name]));
  return first === "dnf" && others.includes("zypper") && isSuse() ? "zypper" : first;
}

/** The packages of this host, through the manager that it has. The one place that decides whether they may be changed. */
export function createHostPackageManager(ports: ManagerPorts): PackageManager | undefined {
  const name = findManager();
  const manager = name && backends[name].open(ports);
  const tools = findImageTools();
  return manager === undefined || tools.length === 0 ? manager : onImage(manager, tools, ports.exec);
}

/** Whether the host's package manager answers; not expected on a host that has none. */
export function createPackageManagerProbe({ exec }: Pick<ManagerPorts, "exec">): Probe {
  const name = findManager();
  return async (signal) => {
    if (name === undefined) return { healthy: false, expected: false, reason: "no package manager on this host" };
    const { exitCode, stderr } = await exec(backends[name].probe, { signal, timeoutMs: 10_000 });
    if (exitCode === 0) return { healthy: true, expected: true };
    return { healthy: false, expected: true, reason: `${name} does not answer: ${stderr.trim()}` };
  };
}
