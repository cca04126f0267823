import {
  type ChangeRequest,
  isChange,
  type PackageManager,
  type TransactionPlan,
  UpdateRefused,
  type UpdateRequest,
} from "#domain/ports/packages.ts";

/** The package of this service: who removes it has nobody left who could put it back. */
const ownPackage = "steward";

type Manager = Pick<PackageManager, "plan" | "unremovable">;

/** What is asked for, as in `cannot update`. */
export const doingOf = (request: UpdateRequest | ChangeRequest): string =>
  isChange(request) ? `${request.change} ${request.names.join(", ")}` : "update";

const changeText = ({ name, from, to }: TransactionPlan["changes"][number], isPurge = false): string => {
  if (from === null) return `install ${name} ${to ?? ""}`;
  return to === null ? `${isPurge ? "purge" : "remove"} ${name} ${from}` : `update ${name} from ${from} to ${to}`;
};

/** What a transaction changes, in the words of its plan. */
export const changeTexts = ({ changes, isPurge }: TransactionPlan): readonly string[] =>
  changes.map((each) => changeText(each, isPurge));

/** Plans updates, or that packages come or go. @throws UpdateRefused also where what must stay would be removed. */
export async function planFor(
  manager: Manager,
  request: UpdateRequest | ChangeRequest,
  signal: AbortSignal,
): Promise<TransactionPlan> {
  if (!isChange(request)) return manager.plan(request, signal);
  const named = request.change === "install" ? [] : request.names.map((word) => word.replace(/:[^:]*$/, ""));
  const demandRemovable = async (names: readonly string[]): Promise<void> => {
    const reasons = names.length === 0 ? new Map<string, string>() : await manager.unremovable(signal);
    for (const each of names) {
      const reason = each === ownPackage ? "it is this service" : reasons.get(each);
      if (reason !== undefined) throw new UpdateRefused(`${each} would be removed, which is refused: ${reason}`);
    }
  };
  // In the words for everybody, before the package manager refuses it in its own.
  await demandRemovable(named);
  const plan = await manager.plan(request, signal);
  const removed = plan.changes.flatMap((each) => (each.to === null ? [each.name] : []));
  const others = removed.filter((each) => !named.includes(each));
  await demandRemovable(others);
  if (request.removesOnlyNamed && others.length > 0)
    throw new UpdateRefused(
      `${others.join(", ")} would be removed as well, for which the key has no scope (packages:remove for all packages)`,
    );
  return plan;
}
