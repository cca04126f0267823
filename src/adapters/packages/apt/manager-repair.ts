import type { PackageManager, PresentPackage, Progress, TransactionResult } from "#domain/ports/packages.ts";
import { asResult, markCommands, unitFor } from "./manager-commit.ts";
import type { createMarks } from "./manager-marks.ts";
import type { createRepairs } from "./repairs.ts";
import type { createFaults } from "./states.ts";
import type { createTransactions } from "./transactions.ts";

/** Finds and finishes what an interrupted transaction has left. */
export function createRepair(ports: {
  readonly transact: ReturnType<typeof createTransactions>;
  readonly faults: ReturnType<typeof createFaults>;
  readonly marks: ReturnType<typeof createMarks>;
  readonly repairsFor: (progress: Progress, unit: string) => ReturnType<typeof createRepairs>;
  readonly present: () => Promise<readonly PresentPackage[]>;
}): Pick<PackageManager, "audit" | "repair"> {
  const { transact, faults, marks, repairsFor, present } = ports;

  const audit: PackageManager["audit"] = async (signal) => {
    const { writer, isInterrupted, unfinished, unmet } = await faults(signal);
    // What another program is still working on is not a leftover.
    if (writer !== undefined) return [];
    return [
      ...unfinished.map(({ name, version, state }) => `${name} ${version} is ${state}`),
      ...unmet.map(({ name, needs }) => `${name} lacks what it needs (${needs})`),
      ...(isInterrupted && unfinished.length === 0 ? ["dpkg was stopped in the middle of its work"] : []),
    ];
  };

  /** Packages that a transaction has brought along, or found marked so, are automatic, however it ended. */
  const markAgain = async (unit: string, signal: AbortSignal): Promise<void> => {
    const installed = (await present()).flatMap(({ name, architecture }) => [name, `${name}:${architecture}`]);
    const words = (await marks.read(unit)).filter((word) => installed.includes(word));
    for (const argv of markCommands(words))
      await transact({ unit, description: "Steward marks packages (apt-mark auto)", argv, locks: [] }, signal);
    await marks.forget(unit);
  };

  const repair: PackageManager["repair"] = async ({ id, progress }, signal) => {
    const unit = unitFor(id);
    const repairs = repairsFor(progress, unit);
    const { writer, isInterrupted, unfinished } = await faults(signal);
    const results: TransactionResult[] = [];
    // A program at work now is waited for, by the wait for its lock.
    if (writer !== undefined || isInterrupted || unfinished.length > 0) {
      progress.step(0, "finish what was begun");
      results.push(await asResult(() => repairs.finish(signal)));
    }
    const left = await faults(signal);
    const again = left.unfinished.filter(({ mustBeReinstalled }) => mustBeReinstalled).map(({ name }) => name);
    if (left.unmet.length > 0 || again.length > 0) {
      progress.step(50, "install what is missing");
      const plan = await repairs.planMissing(again, signal);
      results.push(
        plan.obstacle === null
          ? await asResult(() => repairs.installMissing(plan, signal))
          : { isDone: false, reason: plan.obstacle },
      );
    }
    await markAgain(unit, signal);
    const wrong = await audit(signal);
    if (wrong.length === 0) return { isDone: true, reason: "" };
    const reasons = results.filter(({ isDone }) => !isDone).map(({ reason }) => reason);
    return { isDone: false, reason: (reasons.length > 0 ? reasons : wrong).join("; ") };
  };

  return { audit, repair };
}
