import { readFile } from "node:fs/promises";
import { type RollbackOutcome, type SnapshotBackend, SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { errorMessage } from "#kernel/errors.ts";
import { diffPackages } from "../packages/plan.ts";
import { carryState } from "./carry.ts";
import { findEntry, numbersById, removeNumber, rootOf, type Snapper } from "./catalogue.ts";
import { mountedApart } from "./layout.ts";
import { keys, type NamedEntry } from "./names.ts";
import { readBeginning, writeBeginning } from "./records.ts";
import { filledNested, nestedReason, whyUnusable } from "./usable.ts";

export async function verifyEntry(
  { programs, layout, installed, carried }: Snapper,
  { entry }: NamedEntry,
  signal: AbortSignal,
): Promise<void> {
  const reason = await whyUnusable(rootOf(entry.number), installed, signal);
  if (reason !== undefined) throw new SnapshotUnusable(`the snapshot cannot be booted: ${reason}`);
  const nested = await filledNested(programs, layout, carried, signal);
  if (nested.length > 0) throw new SnapshotUnusable(nestedReason(nested));
}

export async function difference({ installed, programs }: Snapper, number: number, signal: AbortSignal) {
  const state = "installed" as const;
  const [then, now] = [await installed(rootOf(number), signal), await installed("/", signal)];
  const packages = diffPackages(
    then.map((each) => ({ ...each, state })),
    now.map((each) => ({ ...each, state })),
  );
  const changed = await programs.status(number, signal);
  const files = changed.filter(({ path }) => path.startsWith("/etc/")).map(({ path, change }) => ({ path, change }));
  return { packages, files };
}

async function removeOldRoots(
  { programs, layout }: Snapper,
  transaction: string,
  report: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const kept = new Set([layout.rootId, await programs.defaultId(signal)]);
  const ids = await numbersById(programs, layout, "all", signal);
  const keptNumbers = new Set([...ids].filter(([id]) => kept.has(id)).map(([, number]) => number));
  for (const { number, userdata } of await programs.list(signal)) {
    const made = userdata[keys.transaction];
    if (made === undefined || made === transaction || keptNumbers.has(number)) continue;
    try {
      await removeNumber(programs, number, signal);
    } catch (error) {
      signal.throwIfAborted();
      report(`an earlier root is left: ${errorMessage(error)}`);
    }
  }
}

async function copyFor(
  { programs, layout }: Snapper,
  { entry, id }: NamedEntry,
  transaction: string,
  signal: AbortSignal,
): Promise<{ readonly number: number; readonly subvolumeId: number }> {
  const earlier = (await programs.list(signal)).find(({ userdata }) => userdata[keys.transaction] === transaction);
  if (earlier !== undefined && earlier.userdata[keys.copyOf] !== id) {
    throw new Error(`the transaction ${transaction} has returned to another snapshot`);
  }
  const userdata = { [keys.transaction]: transaction, [keys.copyOf]: id };
  const made = { description: `Returned to ${id}`, userdata, writableCopyOf: entry.number };
  const number = earlier?.number ?? (await programs.create(made, signal));
  const found = [...(await numbersById(programs, layout, "all", signal))].find(([, each]) => each === number);
  if (found === undefined) throw new Error(`snapper has made no copy of its snapshot ${entry.number}`);
  return { number, subvolumeId: found[0] };
}

async function begin(snapper: Snapper, { entry }: NamedEntry, transaction: string, signal: AbortSignal) {
  const earlier = await readBeginning(snapper.stateDir, transaction);
  if (earlier !== undefined) return earlier;
  const { packages, files } = await difference(snapper, entry.number, signal);
  const back = packages.map(({ from, to, ...rest }) => ({ ...rest, from: to, to: from }));
  const beginning = { transaction, packages: back, files: files.length };
  writeBeginning(snapper.stateDir, beginning);
  return beginning;
}

export async function rollBack(
  snapper: Snapper,
  ...[id, { id: transaction, progress }, signal]: Parameters<SnapshotBackend["rollback"]>
): Promise<RollbackOutcome> {
  const { programs, layout, carried } = snapper;
  if (!/^[0-9A-Za-z-]{1,100}$/.test(transaction)) throw new Error("a transaction's id has letters, digits and dashes");
  const found = await findEntry(snapper, id, signal);
  progress.step(0, "looking whether the snapshot can be booted");
  await verifyEntry(snapper, found, signal);
  const { packages, files } = await begin(snapper, found, transaction, signal);
  const outcome = (requiresReboot: boolean, reason: string): RollbackOutcome => {
    return { isDone: true, reason, packages, filesRestored: files, filesLeft: [], requiresReboot };
  };

  progress.step(20, "making a root of the snapshot");
  const copy = await copyFor(snapper, found, transaction, signal);
  if (copy.subvolumeId === layout.rootId) return outcome(false, "");
  if ((await programs.defaultId(signal)) !== copy.subvolumeId) {
    progress.step(60, "bringing the state of the service along");
    for (const each of carried)
      await carryState({ programs, stateDir: each, name: transaction }, rootOf(copy.number), signal);
    progress.step(90, "making it the root of the next boot");
    await programs.setDefault(rootOf(copy.number), signal);
  }
  await removeOldRoots(snapper, transaction, progress.line, signal);
  const apart = mountedApart(await readFile("/proc/self/mountinfo", "utf8"));
  const stay = apart.length === 0 ? "" : `; not on this file system, and left as it is: ${apart.join(", ")}`;
  const reason = `what is written to / until the reboot stays in the root that is left${stay}`;
  progress.line(reason);
  return outcome(true, reason);
}
