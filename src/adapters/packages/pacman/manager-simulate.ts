import type { PackageChange, TransactionPlan, UpdateRequest } from "#domain/ports/packages.ts";
import { noChanges, UpdateRefused } from "#domain/ports/packages.ts";
import type { Asking } from "./asking.ts";
import type { PacmanDatabase } from "./database.ts";
import { failureReason } from "./output.ts";
import { isPackageName } from "./records.ts";
import type { OfferedDetails, PrintedRow } from "./simulation.ts";
import { parseDetails, parsePrinted, planFrom, printFormat } from "./simulation.ts";
import type { createOffers } from "./updates.ts";

/** So many names fit on one command line. */
const namesAtOnce = 500;

/** What an update of everything would do with some lists. */
export interface FullUpdate {
  readonly plan: TransactionPlan;
  readonly rows: readonly PrintedRow[];
}

const heldIn = (changes: readonly PackageChange[], { packages, isHeld }: PacmanDatabase): readonly string[] =>
  packages.filter((each) => isHeld(each) && changes.some(({ name }) => name === each.name)).map(({ name }) => name);

/** Asks pacman what an update of everything would do. @throws UpdateRefused where it cannot be solved. */
export function createFullUpdate({ asking }: { readonly asking: Asking }) {
  const detailsOf = async (
    databases: string,
    rows: readonly PrintedRow[],
    signal: AbortSignal,
  ): Promise<readonly OfferedDetails[]> => {
    const details: OfferedDetails[] = [];
    for (let at = 0; at < rows.length; at += namesAtOnce) {
      const names = rows.slice(at, at + namesAtOnce).map(({ repository, name }) => `${repository}/${name}`);
      details.push(...parseDetails(await asking.ask(databases, ["-Si", "--", ...names], signal)));
    }
    return details;
  };

  return async (databases: string, database: PacmanDatabase, signal: AbortSignal): Promise<FullUpdate> => {
    const words = ["-Su", "--print", "--print-format", printFormat];
    const { exitCode, stdout, stderr } = await asking.tryAsking(databases, words, signal);
    if (exitCode !== 0) throw new UpdateRefused(failureReason(`${stdout}\n${stderr}`, exitCode));
    const rows = parsePrinted(stdout);
    const plan = planFrom(rows, await detailsOf(databases, rows, signal), database.packages);
    const held = heldIn(plan.changes, database);
    if (held.length > 0)
      throw new UpdateRefused(`pacman would change ${held.join(", ")}, which is held at its version`);
    return { plan, rows };
  };
}

/** @throws UpdateRefused for what is not installed, or held. */
function demandNames(names: readonly string[], { packages, isHeld }: PacmanDatabase): void {
  for (const name of names) {
    const found = isPackageName(name) ? packages.find((each) => each.name === name) : undefined;
    if (found === undefined) throw new UpdateRefused(`${name} is not installed`);
    if (isHeld(found)) throw new UpdateRefused(`${name} is held at its version`);
  }
}

/** @throws UpdateRefused where some are named and others would stay behind: packages fit together only as a whole. */
function demandAll(changes: readonly PackageChange[], names: readonly string[]): void {
  const left = changes.filter(({ name, from }) => from !== null && !names.includes(name)).map(({ name }) => name);
  if (left.length === 0) return;
  const listed = `${left.slice(0, 5).join(", ")}${left.length > 5 ? ` and ${left.length - 5} more` : ""}`;
  throw new UpdateRefused(
    `pacman's packages are updated all together or not at all, and ${listed} would stay behind: name all of them, or none`,
  );
}

/** @throws UpdateRefused for a removal. To leave out what takes the place of another one would be a partial update. */
function demandNoRemoval(changes: readonly PackageChange[]): void {
  const removed = changes.filter(({ to }) => to === null).map(({ name }) => name);
  if (removed.length > 0)
    throw new UpdateRefused(
      `pacman would remove ${removed.join(", ")}, which others replace: that takes an update of all`,
    );
}

/** What a request comes to; see the port. */
export function createSimulate(ports: {
  readonly offers: ReturnType<typeof createOffers>;
  readonly fullUpdate: ReturnType<typeof createFullUpdate>;
}): (request: UpdateRequest, signal: AbortSignal) => Promise<TransactionPlan> {
  const { offers, fullUpdate } = ports;
  return async ({ type, isSecurityOnly, names }, signal) => {
    if (isSecurityOnly) throw new UpdateRefused("pacman cannot tell security updates from others");
    const { database, lists } = await offers(signal);
    if (lists === undefined) throw new UpdateRefused("there are no package lists: they have to be refreshed first");
    if (names !== undefined) demandNames(names, database);
    const { plan } = await fullUpdate(lists.databases, database, signal);
    if (names !== undefined) {
      if (!plan.changes.some(({ name }) => names.includes(name))) return noChanges;
      demandAll(plan.changes, names);
    }
    if (type === "packages") demandNoRemoval(plan.changes);
    return plan;
  };
}
