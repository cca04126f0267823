import { CommandFailed } from "#adapters/exec/command.ts";
import { type PackageFaults, type PackageVersion, UpdateRefused } from "#domain/ports/packages.ts";
import { heldIn } from "../common/changes.ts";
import { rememberByMark } from "../common/marks.ts";
import type { Asks } from "../common/ports.ts";
import { nameAndArchitecture } from "../rpm/names.ts";
import { NoLists } from "../rpm/offers.ts";
import type { Asking } from "./asking.ts";
import type { Zypper, ZypperDatabase } from "./host.ts";
import { parseUnmet } from "./lists.ts";
import { type Simulation, simulate } from "./simulation.ts";

export interface Findings {
  /** Versions that are left beside another one, of packages of which only one can be installed. */
  readonly duplicates: readonly { readonly old: PackageVersion; readonly kept: PackageVersion }[];
  readonly unmet: PackageFaults["unmet"];
}

const rpmOptions = { timeoutMs: 10 * 60_000, maxOutputBytes: 8 * 1024 * 1024 };
const onlyDependencies = ["--nofiles", "--nodigest", "--nosignature", "--noscripts"] as const;

async function verify(ask: Asking["tryAsking"], signal: AbortSignal): Promise<Simulation | undefined> {
  try {
    return await simulate(ask, ["verify", "--no-recommends"], signal);
  } catch (error) {
    if (error instanceof UpdateRefused || error instanceof NoLists) return undefined;
    throw error;
  }
}

/** Which packages may be there in several versions is a setting of zypper's, and it knows best. */
async function duplicatesIn(
  zypper: Zypper,
  { packages }: ZypperDatabase,
  signal: AbortSignal,
): Promise<Findings["duplicates"]> {
  const several = new Map(
    [...Map.groupBy(packages, nameAndArchitecture)].filter(([, versions]) => versions.length > 1),
  );
  if (several.size === 0) return [];
  const found = (await verify(zypper.tryInstalled, signal)) ?? (await verify(zypper.tryAsking, signal));
  return (found?.changes ?? []).flatMap(({ name, architecture, from, to }) => {
    const kept = several.get(nameAndArchitecture({ name, architecture }))?.findLast(({ version }) => version !== from);
    return to === null && from !== null && kept !== undefined
      ? [{ old: { name, architecture, version: from }, kept }]
      : [];
  });
}

async function unmetIn({ exec, places }: Zypper, signal: AbortSignal): Promise<Findings["unmet"]> {
  const words = ["--verify", "--all", ...onlyDependencies];
  const { exitCode, stdout, stderr, truncated } = await exec([...places.rpm, ...words], { ...rpmOptions, signal });
  const found = parseUnmet(`${stdout}\n${stderr}`);
  if (truncated || (exitCode !== 0 && found.length === 0))
    throw new CommandFailed(`cannot ask rpm: ${stderr.trim() || stdout.trim().slice(-1000)}`);
  return found;
}

export function createFindings(zypper: Zypper): Asks<Findings> {
  const remembered = rememberByMark<Findings>();
  return async (signal) => {
    const state = await zypper.database(signal);
    return remembered(state.mark, async () => {
      return { duplicates: await duplicatesIn(zypper, state, signal), unmet: await unmetIn(zypper, signal) };
    });
  };
}

export function createFaults(zypper: Zypper, findings: Asks<Findings>): Asks<PackageFaults> {
  return async (signal) => {
    // First who writes, then what is written: in the middle of a transaction all of it looks broken off.
    const writer = await zypper.writer();
    const found = writer === undefined ? await findings(signal) : { duplicates: [], unmet: [] };
    const state = await zypper.database(signal);
    return {
      installed: state.packages.length,
      unfinished: found.duplicates.map(({ old: { name, version }, kept }) => {
        return { name, version, state: `left beside ${kept.version}`, mustBeReinstalled: false };
      }),
      isInterrupted: found.duplicates.length > 0,
      unmet: found.unmet,
      held: heldIn(state),
      writer,
    };
  };
}
