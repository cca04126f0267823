import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageFaults } from "#domain/health/ports.ts";
import type { DpkgDatabase } from "./database.ts";
import type { LockTable } from "./locks.ts";
import { failureReason } from "./output.ts";
import type { AptPaths } from "./paths.ts";
import { onlyAsking, withoutSources } from "./paths.ts";
import { parseUnmet } from "./simulation.ts";

const unfinishedStates: ReadonlySet<string> = new Set([
  "half-installed",
  "unpacked",
  "half-configured",
  "triggers-awaited",
  "triggers-pending",
]);

/** What is wrong with the packages, from dpkg's files and, for dependencies, from apt. */
export function createFaults(ports: {
  readonly exec: Exec;
  readonly database: () => Promise<DpkgDatabase>;
  readonly locks: LockTable;
  readonly paths: AptPaths;
}): (signal: AbortSignal) => Promise<PackageFaults> {
  const { exec, database, locks, paths } = ports;
  let last: { readonly mark: string; readonly unmet: PackageFaults["unmet"] } | undefined;

  const askUnmet = async (signal: AbortSignal): Promise<PackageFaults["unmet"]> => {
    const argv = ["/usr/bin/apt-get", "--quiet", ...onlyAsking, ...withoutSources, "check"] as const;
    const { exitCode, stdout, stderr } = await exec(argv, { signal });
    if (exitCode === 0) return [];
    const unmet = parseUnmet(`${stdout}\n${stderr}`);
    if (unmet.length === 0) throw new CommandFailed(`cannot ask apt: ${failureReason(stderr, exitCode)}`);
    return unmet;
  };

  const unmetIn = async ({ mark }: DpkgDatabase, signal: AbortSignal): Promise<PackageFaults["unmet"]> => {
    if (last?.mark !== mark) last = { mark, unmet: await askUnmet(signal) };
    return last.unmet;
  };

  return async (signal) => {
    // First who writes, then what is written: dpkg gives up its lock when all is in its files.
    const writer = await locks.holder(paths.databaseLock);
    const state = await database();
    const unfinished = state.entries
      .filter((entry) => unfinishedStates.has(entry.state) || entry.flag === "reinstreq")
      .map(({ name, version, state: word, flag }) => ({
        name,
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
      unmet: canAsk ? await unmetIn(state, signal) : [],
      held: state.entries
        .filter(({ want, state: word }) => want === "hold" && word !== "not-installed" && word !== "config-files")
        .map(({ name, version }) => ({ name, version })),
      writer,
    };
  };
}
