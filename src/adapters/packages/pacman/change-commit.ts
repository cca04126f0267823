import type { PackageManager } from "#domain/ports/packages.ts";
import { demandSame } from "../common/changes.ts";
import { asResult, longestMs, unitFor } from "../common/transactions.ts";
import { planChange, requestOf } from "./change.ts";
import { downloadPercent, telling } from "./commit.ts";
import type { Pacman } from "./host.ts";
import { scriptAndHookFailures } from "./output.ts";
import { changing } from "./repairs.ts";
import type { PrintedRow } from "./simulation.ts";

/** Exact versions of those that were named: what comes along pacman marks as such. */
const operandsOf = (rows: readonly PrintedRow[], names: readonly string[]): readonly string[] =>
  rows
    .filter(({ name }) => names.includes(name))
    .map(({ repository, name, version }) => `${repository}/${name}=${version}`);

const words = { install: ["-S", "--needed"], remove: ["-R"], purge: ["-R", "--nosave"] } as const;

/** Makes packages come or go, and updates by another way: what comes is downloaded first. */
export function createChangeCommit(pacman: Pacman, update: PackageManager["commit"]): PackageManager["commit"] {
  const { places, hostTransact } = pacman;

  return async (plan, transaction, signal) => {
    const request = requestOf(plan);
    if (request === undefined || plan.changes.length === 0) return update(plan, transaction, signal);
    const { id, progress, ready } = transaction;
    const common = { unit: unitFor(id), onLine: telling(progress, plan.changes.length), timeoutMs: longestMs };
    const demandPlanned = async (): Promise<readonly string[]> => {
      const { plan: now, rows } = await planChange(pacman, request, signal);
      demandSame(now.changes, plan.changes);
      return request.change === "install" ? operandsOf(rows, request.names) : request.names;
    };
    const operands = await demandPlanned();
    const argvOf = (...given: readonly string[]) =>
      [...places.pacman, ...changing, ...given, "--", ...operands] as const;

    if (request.change === "install") {
      const download = { description: "Steward downloads packages (pacman -Sw)", argv: argvOf("-Sw") };
      const downloaded = await asResult(() => hostTransact({ ...common, ...download, isInterruptible: true }, signal));
      if (!downloaded.isDone) return downloaded;
      progress.step(downloadPercent, "packages are downloaded");
    }
    const before = async (): Promise<void> => {
      await ready?.();
      await demandPlanned();
    };
    const description = `Steward changes packages (pacman ${words[request.change].join(" ")})`;
    let output = "";
    const changed = await asResult(async () => {
      const argv = argvOf(...words[request.change]);
      output = await hostTransact({ ...common, description, argv, before }, signal);
    });
    const failures = scriptAndHookFailures(output);
    return changed.isDone && failures !== "" ? { isDone: false, reason: failures } : changed;
  };
}
