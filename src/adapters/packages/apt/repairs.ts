import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { MissingPlan, PackageRepairs } from "#domain/ports/packages.ts";
import { demandSamePlan } from "../common/asking.ts";
import type { Transact } from "../common/transactions.ts";
import { type AptPaths, isPackageName, keepSettings, onlyAsking, onlyTrusted, withoutCaches } from "./arguments.ts";
import { type Lists, olderReleases, releaseMarks } from "./lists.ts";
import { failureReason } from "./output.ts";
import { refreshFailure } from "./refresh-problems.ts";
import { parseDownloadBytes, parseSimulation, type SimulatedStep } from "./simulation.ts";

const repairWords = [
  "--quiet",
  ...withoutCaches,
  ...onlyTrusted,
  "--assume-yes",
  "--fix-broken",
  "--no-remove",
  "--no-install-recommends",
  ...keepSettings.map((option) => `--option=Dpkg::Options::=${option}`),
] as const;

const changesOf = (steps: readonly SimulatedStep[]): MissingPlan["changes"] =>
  steps
    .filter(({ kind }) => kind === "install")
    .map(({ name, architecture, from, to }) => ({ name, architecture, from, to: to ?? "" }));

function obstacleIn(output: string, exitCode: number): string {
  const [, removed] = /The following packages will be REMOVED:\n((?: .*\n)+)/.exec(output) ?? [];
  if (removed !== undefined)
    return `apt would have to remove ${removed
      .trim()
      .split(/[\s*]+/)
      .join(", ")}, since the package sources do not have what is needed`;
  return failureReason(output, exitCode);
}

interface RepairPorts {
  readonly exec: Exec;
  readonly transact: Transact;
  readonly paths: AptPaths;
}

function repairArgs(names: readonly string[]): readonly string[] {
  const wrong = names.find((name) => !isPackageName(name));
  if (wrong !== undefined) throw new CommandFailed(`cannot install ${wrong} again: it is not a package name`);
  return [
    ...repairWords,
    ...(names.length > 0 ? ["--reinstall"] : []),
    "install",
    ...(names.length > 0 ? ["--", ...names] : []),
  ];
}

export async function refreshLists(
  { transact, paths, lists }: Pick<RepairPorts, "transact" | "paths"> & { readonly lists: Lists },
  signal: AbortSignal,
): Promise<void> {
  // By default apt-get succeeds even when it reached no server at all.
  const update = ["--quiet", "--option=APT::Update::Error-Mode=any", "update"];
  const directory = await lists.directory();
  const before = await releaseMarks(directory);
  const transaction = {
    unit: "steward-apt-update",
    description: "Steward downloads the package lists (apt-get update)",
    argv: ["/usr/bin/apt-get", ...update],
    locks: [join(directory, "lock")],
    isInterruptible: true,
    failureReason: refreshFailure,
  } as const;
  const output = await transact(transaction, signal);
  const problem = /^(?:W: )?(Failed to fetch .*|Some index files failed to download.*)$/m.exec(output)?.[1];
  if (problem !== undefined) throw new CommandFailed(problem);
  const older = olderReleases(await lists.sources(), { before, after: await releaseMarks(directory), output });
  if (older.length > 0)
    throw new CommandFailed(
      `${older.join(", ")} gave older lists than before, so the newer ones stay in use: the mirror lags behind, or newer updates are being withheld; try again later, and use another mirror if it persists`,
    );
  const description = "Steward notes that the package lists are fresh";
  const argv = ["/usr/bin/touch", "--", paths.refreshStamp] as const;
  await transact({ unit: "steward-apt-stamp", description, argv, locks: [] }, signal);
}

export function createRepairs(ports: RepairPorts): PackageRepairs {
  const { exec, transact, paths } = ports;
  const locks = [paths.frontendLock, paths.databaseLock];

  const planMissing: PackageRepairs["planMissing"] = async (reinstalled, signal) => {
    const words = repairArgs(reinstalled);
    const ask = (option: string) => exec(["/usr/bin/apt-get", ...onlyAsking, option, ...words], { signal });
    const rehearsal = await ask("--simulate");
    if (rehearsal.exitCode !== 0) {
      const obstacle = obstacleIn(`${rehearsal.stdout}\n${rehearsal.stderr}`, rehearsal.exitCode);
      return { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle };
    }
    const uris = await ask("--print-uris");
    const steps = parseSimulation(rehearsal.stdout);
    const configured = steps.filter(({ kind }) => kind === "configure").map(({ name }) => name);
    const downloadBytes = parseDownloadBytes(uris.stdout);
    return { reinstalled, changes: changesOf(steps), configured, downloadBytes, obstacle: null };
  };

  return {
    async finish(signal) {
      const description = "Steward finishes the installation of packages (dpkg --configure -a)";
      const argv = ["/usr/bin/dpkg", ...keepSettings, "--configure", "--pending"] as const;
      await transact({ unit: "steward-dpkg-configure", description, argv, locks }, signal);
    },

    planMissing,

    async installMissing(plan, signal) {
      await demandSamePlan(planMissing, plan, signal);
      const description = "Steward installs packages that others need (apt-get --fix-broken install)";
      const argv = ["/usr/bin/apt-get", ...repairArgs(plan.reinstalled)] as const;
      await transact({ unit: "steward-apt-fix-broken", description, argv, locks }, signal);
    },
  };
}
