import { type MissingPlan, type PackageRepairs, UpdateRefused } from "#domain/ports/packages.ts";
import { demandSamePlan, ManagerRefuses, orObstacle } from "../common/asking.ts";
import type { OnLine } from "../common/ports.ts";
import { type Findings, leftovers } from "../common/rpm/findings.ts";
import { nameAndArchitecture } from "../common/rpm/names.ts";
import { demandLists, demandNoRemoval, NoLists } from "../common/rpm/offers.ts";
import type { Zypper, ZypperDatabase } from "./host.ts";
import { parseUnmet } from "./lists.ts";
import { type Simulation, simulate } from "./simulation.ts";
import { makeChanges } from "./transaction.ts";

const rpmOptions = { timeoutMs: 10 * 60_000, maxOutputBytes: 8 * 1024 * 1024 };
const onlyDependencies = ["--nofiles", "--nodigest", "--nosignature", "--noscripts"] as const;

async function verify(ask: Zypper["tryAsking"], signal: AbortSignal): Promise<Simulation | undefined> {
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
    throw new ManagerRefuses("rpm", stderr.trim() || stdout.trim().slice(-1000));
  return found;
}

export async function findingsOf(zypper: Zypper, signal: AbortSignal): Promise<Findings> {
  const state = await zypper.database(signal);
  const duplicates = await duplicatesIn(zypper, state, signal);
  const unmet = await unmetIn(zypper, signal);
  return { duplicates, unmet, isInterrupted: duplicates.length > 0, brought: [], missing: [], remaining: [] };
}

export async function refresh({ transact, places }: Zypper, onLine: OnLine, signal: AbortSignal): Promise<void> {
  const transaction = {
    unit: "steward-zypper-refresh",
    description: "Steward downloads the package lists (zypper refresh)",
    argv: [...places.zypper, "--non-interactive", "--xmlout", "refresh"],
    locks: [places.lock],
    isInterruptible: true,
    onLine,
  } as const;
  await transact(transaction, signal);
}

export function createRepairs(zypper: Zypper): PackageRepairs {
  const planMissing: PackageRepairs["planMissing"] = async (reinstalled, signal) => {
    const plan: MissingPlan = { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: null };
    if (reinstalled.length > 0)
      return { ...plan, obstacle: "zypper knows of no package that is only partly installed" };
    const simulated = simulate(zypper.tryAsking, ["verify", "--no-recommends"], signal);
    return orObstacle(plan, async () => {
      const { changes, downloadBytes } = await demandLists(simulated);
      demandNoRemoval("zypper", changes);
      if (changes.length === 0) return { ...plan, obstacle: "nothing that could be installed would fix it" };
      return { ...plan, changes: changes.map((each) => ({ ...each, to: each.to ?? "" })), downloadBytes };
    });
  };

  return {
    async finish(signal) {
      const changes = leftovers(await findingsOf(zypper, signal));
      if (changes.length > 0) await makeChanges(zypper, { unit: "steward-zypper-leftovers", changes }, signal);
    },

    planMissing,

    async installMissing(plan, signal) {
      const { changes } = await demandSamePlan(planMissing, plan, signal);
      await makeChanges(zypper, { unit: "steward-zypper-missing", changes }, signal);
    },
  };
}
