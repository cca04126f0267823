import { existsSync, readFileSync, realpathSync } from "node:fs";
import { isSuse, parseOsRelease } from "#adapters/files/etc.ts";
import type { PackageManagerName } from "#contract/check-meanings.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { Probe } from "#domain/ports/probe.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { apt } from "./apt/index.ts";
import { contentMark } from "./common/marks.ts";
import type { Backend, ManagerPorts } from "./common/ports.ts";
import { dnf, dnf5 } from "./dnf/index.ts";
import { findImageTools, onImage } from "./image.ts";
import { pacman } from "./pacman/index.ts";
import { zypper } from "./zypper/index.ts";

/** By program, in the order in which they are looked for. Both generations of dnf are called `dnf` outwardly. */
export const backends: Readonly<Record<PackageManagerName | "dnf5", Backend>> = { apt, dnf, dnf5, zypper, pacman };

/**
 * The package manager among the programs of a host: the host's `dnf` is whichever dnf has that name, and dnf5 alone is used as well.
 * @param realPath where a path leads; undefined where nothing is.
 */
export function chooseBackend(
  realPath: (path: string) => string | undefined,
  isOfSuse: () => boolean,
): Backend | undefined {
  const named = realPath(dnf.program);
  const isDnf5 = named === undefined || named === realPath(dnf5.program);
  const isThere = ({ program, probe }: Backend): boolean => [program, probe[0]].every((path) => realPath(path));
  const [first, ...others] = Object.values(backends)
    .filter((each) => each !== (isDnf5 ? dnf : dnf5))
    .filter(isThere);
  // Dnf can be installed on hosts of the SUSE family as well, and is a guest there.
  return first !== apt && others.includes(zypper) && isOfSuse() ? zypper : first;
}

/** One of the two is there by os-release(5). */
const osRelease = (): string | undefined => ["/etc/os-release", "/usr/lib/os-release"].find((path) => existsSync(path));

const isSuseHost = (): boolean => {
  const path = osRelease();
  return path !== undefined && isSuse(parseOsRelease(readFileSync(path, "utf8")));
};

const findBackend = (): Backend | undefined =>
  chooseBackend((path) => orUndefinedSync(() => realpathSync(path)), isSuseHost);

/** The packages of this host, through the manager that it has. The one place that decides whether they may be changed. */
export function createHostPackageManager(ports: ManagerPorts): PackageManager | undefined {
  const manager = findBackend()?.open(ports);
  const tools = findImageTools();
  return manager === undefined || tools.length === 0 ? manager : onImage(manager, tools, ports.exec);
}

/** How long an answer stands while neither program nor databases have changed. */
const answerKeptMs = 10 * 60_000;

/**
 * Whether the host's package manager answers; not expected on a host that has none. Starting its program costs more than all else that
 * the service does at rest, so it is asked again when something has changed, at each probe after a failure, and every ten minutes.
 */
export function createPackageManagerProbe({ exec, clock }: Pick<ManagerPorts, "exec" | "clock">): Probe {
  const found = findBackend();
  const name = Object.entries(backends).find(([, each]) => each === found)?.[0];
  let answered: { readonly mark: string; readonly atMs: number } | undefined;
  return async (signal) => {
    if (found === undefined) return { healthy: false, expected: false, reason: "no package manager on this host" };
    const { probe, databases } = found;
    const mark = (await Promise.all([probe[0], ...databases].map(contentMark))).join("\n");
    const nowMs = clock.monotonicMs();
    if (answered?.mark === mark && nowMs - answered.atMs < answerKeptMs) return { healthy: true, expected: true };
    answered = undefined;
    const { exitCode, stderr } = await exec(probe, { signal, timeoutMs: 10_000 });
    if (exitCode !== 0) return { healthy: false, expected: true, reason: `${name} does not answer: ${stderr.trim()}` };
    answered = { mark, atMs: nowMs };
    return { healthy: true, expected: true };
  };
}
