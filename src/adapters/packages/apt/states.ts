import { existsSync } from "node:fs";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageFaults } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import type { LockTable } from "../common/locks.ts";
import { rememberByMark } from "../common/marks.ts";
import { type AptPaths, onlyAsking, withoutSources } from "./arguments.ts";
import type { DpkgDatabase } from "./database.ts";
import { failureReason } from "./output.ts";
import { parseUnmet } from "./simulation.ts";

const unfinishedStates: ReadonlySet<string> = new Set([
  "half-installed",
  "unpacked",
  "half-configured",
  "triggers-awaited",
  "triggers-pending",
]);

/** Between two runs of dpkg apt holds only the frontend lock, briefly; an interactive frontend holds it for hours. */
const mostLooks = 5;
const betweenLooksMs = 200;

export function createFaults(ports: {
  readonly exec: Exec;
  readonly database: () => Promise<DpkgDatabase>;
  readonly locks: LockTable;
  readonly paths: AptPaths;
  readonly clock: Pick<Clock, "sleep">;
}): (signal: AbortSignal) => Promise<PackageFaults> {
  const { exec, database, locks, paths, clock } = ports;
  const remembered = rememberByMark<PackageFaults["unmet"]>();

  const askUnmet = async (signal: AbortSignal): Promise<PackageFaults["unmet"]> => {
    const argv = ["/usr/bin/apt-get", "--quiet", ...onlyAsking, ...withoutSources, "check"] as const;
    const { exitCode, stdout, stderr } = await exec(argv, { signal });
    if (exitCode === 0) return [];
    const unmet = parseUnmet(`${stdout}\n${stderr}`);
    if (unmet.length === 0) throw new ManagerRefuses("apt", failureReason(stderr, exitCode));
    return unmet;
  };

  const look = async (signal: AbortSignal): Promise<PackageFaults> => {
    // First who writes, then what is written: dpkg gives up its lock when all is in its files. It may also begin meanwhile.
    const before = await locks.holder(paths.databaseLock);
    const state = await database();
    const writer = before ?? (await locks.holder(paths.databaseLock));
    const native = state.entries.find(({ name }) => name === "dpkg")?.architecture;
    const unfinished = state.entries
      .filter((entry) => unfinishedStates.has(entry.state) || entry.flag === "reinstreq")
      .map(({ name, architecture, version, state: word, flag }) => ({
        // Of another architecture, the name alone would be another package.
        name:
          architecture === native || architecture === "all" || architecture === "" ? name : `${name}:${architecture}`,
        version,
        state: word,
        mustBeReinstalled: flag === "reinstreq" || word === "half-installed",
      }));
    // Apt reads only the status file, and of a package that must be installed again it says nothing but that.
    const canAsk =
      writer === undefined && !state.hasUpdates && !unfinished.some(({ mustBeReinstalled }) => mustBeReinstalled);
    return {
      installed: state.entries.filter((entry) => entry.state === "installed").length,
      unfinished,
      isInterrupted: state.hasUpdates,
      unmet: canAsk ? await remembered(state.mark, () => askUnmet(signal)) : [],
      held: state.entries
        .filter(({ want, state: word }) => want === "hold" && word !== "not-installed" && word !== "config-files")
        .map(({ name, version }) => ({ name, version })),
      writer,
    };
  };

  return async (signal) => {
    for (let looks = 1; ; looks += 1) {
      const frontend = await locks.holder(paths.frontendLock);
      const faults = await look(signal);
      const isSure = faults.writer !== undefined || (faults.unfinished.length === 0 && !faults.isInterrupted);
      if (isSure || frontend === undefined || looks === mostLooks) return faults;
      await clock.sleep(betweenLooksMs, signal);
    }
  };
}

const program = "/usr/bin/unattended-upgrade";
const timer = "apt-daily-upgrade.timer";

/** Reads `apt-config dump`: a period of 0, or none, switches something off, as does `Enable`. */
export function runsUnattended(dump: string): boolean {
  const settings = new Map(
    dump.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const isOff = (value: string | undefined): boolean => value === undefined || value === "" || value === "0";
  const { enable, period } = {
    enable: settings.get("APT::Periodic::Enable") ?? "1",
    period: settings.get("APT::Periodic::Unattended-Upgrade"),
  };
  return !isOff(enable) && !isOff(period);
}

/** `unattended-upgrades`, which a timer of apt runs where it is installed and switched on. */
export const createUpdaters =
  ({ exec, unattended = program }: { readonly exec: Exec; readonly unattended?: string }) =>
  async (signal: AbortSignal): Promise<readonly string[]> => {
    if (!existsSync(unattended)) return [];
    const question = ["/usr/bin/apt-config", "dump", "--format=%f=%v%n", "APT::Periodic"] as const;
    const { exitCode, stdout, stderr } = await askWhole({ exec, manager: "apt" }, question, signal);
    if (exitCode !== 0) throw new ManagerRefuses("apt", stderr.trim());
    return runsUnattended(stdout) ? [timer] : [];
  };
