import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { type PackageFaults, type PackageVersion, UpdateRefused } from "#domain/ports/packages.ts";
import type { LockTable } from "../common/locks.ts";
import { keyOf } from "../rpm/names.ts";
import { NoLists } from "../rpm/offers.ts";
import type { Asking, ZypperPlaces } from "./asking.ts";
import type { createDatabase, ZypperDatabase } from "./database.ts";
import { parseUnmet } from "./lists.ts";
import { type Simulation, simulate } from "./simulation.ts";

export interface Findings {
  /** Versions that are left beside another one, of packages of which only one can be installed. */
  readonly duplicates: readonly { readonly old: PackageVersion; readonly kept: PackageVersion }[];
  readonly unmet: PackageFaults["unmet"];
}

function severalOf({ packages }: ZypperDatabase): ReadonlyMap<string, readonly PackageVersion[]> {
  const found = Map.groupBy(packages, keyOf);
  return new Map([...found].filter(([, versions]) => versions.length > 1));
}

const rpmOptions = { timeoutMs: 10 * 60_000, maxOutputBytes: 8 * 1024 * 1024 };
const onlyDependencies = ["--nofiles", "--nodigest", "--nosignature", "--noscripts"] as const;

export function createFindings(ports: {
  readonly exec: Exec;
  readonly asking: Pick<Asking, "tryAsking" | "tryInstalled">;
  readonly database: ReturnType<typeof createDatabase>;
  readonly places: Pick<ZypperPlaces, "rpm">;
}): (signal: AbortSignal) => Promise<Findings> {
  const { exec, asking, database, places } = ports;
  let last: { readonly mark: string; readonly found: Findings } | undefined;

  /** What zypper would do to have everything fit together; undefined where there is no way. */
  const verify = async (ask: Asking["tryAsking"], signal: AbortSignal): Promise<Simulation | undefined> => {
    try {
      return await simulate(ask, ["verify", "--no-recommends"], signal);
    } catch (error) {
      if (error instanceof UpdateRefused || error instanceof NoLists) return undefined;
      throw error;
    }
  };

  /** Which packages may be there in several versions is a setting of zypper's, and it knows best. */
  const duplicatesIn = async (state: ZypperDatabase, signal: AbortSignal): Promise<Findings["duplicates"]> => {
    const several = severalOf(state);
    if (several.size === 0) return [];
    const { changes } = (await verify(asking.tryInstalled, signal)) ??
      (await verify(asking.tryAsking, signal)) ?? { changes: [] };
    return changes.flatMap(({ name, architecture, from, to }) => {
      const kept = several.get(keyOf({ name, architecture }))?.findLast(({ version }) => version !== from);
      return to === null && from !== null && kept !== undefined
        ? [{ old: { name, architecture, version: from }, kept }]
        : [];
    });
  };

  const unmet = async (signal: AbortSignal): Promise<Findings["unmet"]> => {
    const words = ["--verify", "--all", ...onlyDependencies];
    const { exitCode, stdout, stderr, truncated } = await exec([...places.rpm, ...words], { ...rpmOptions, signal });
    const found = parseUnmet(`${stdout}\n${stderr}`);
    if (truncated || (exitCode !== 0 && found.length === 0))
      throw new CommandFailed(`cannot ask rpm: ${stderr.trim() || stdout.trim().slice(-1000)}`);
    return found;
  };

  return async (signal) => {
    const state = await database(signal);
    if (last?.mark !== state.mark)
      last = {
        mark: state.mark,
        found: { duplicates: await duplicatesIn(state, signal), unmet: await unmet(signal) },
      };
    return last.found;
  };
}

export function createFaults(ports: {
  readonly findings: ReturnType<typeof createFindings>;
  readonly database: ReturnType<typeof createDatabase>;
  readonly locks: Pick<LockTable, "holder">;
  readonly places: Pick<ZypperPlaces, "lock">;
}): (signal: AbortSignal) => Promise<PackageFaults> {
  const { findings, database, locks, places } = ports;
  return async (signal) => {
    // First who writes, then what is written: in the middle of a transaction all of it looks broken off.
    const writer = await locks.holder(places.lock);
    const found = writer === undefined ? await findings(signal) : { duplicates: [], unmet: [] };
    const state = await database(signal);
    return {
      installed: state.packages.length,
      unfinished: found.duplicates.map(({ old: { name, version }, kept }) => {
        return { name, version, state: `left beside ${kept.version}`, mustBeReinstalled: false };
      }),
      isInterrupted: found.duplicates.length > 0,
      unmet: found.unmet,
      held: state.packages.filter(state.isHeld).map(({ name, version }) => ({ name, version })),
      writer,
    };
  };
}
