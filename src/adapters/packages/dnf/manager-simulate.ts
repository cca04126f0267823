import type { PackageChange, TransactionPlan, UpdateRequest } from "#domain/ports/packages.ts";
import { noChanges } from "#domain/ports/packages.ts";
import { isSecurityStep } from "../rpm/advice.ts";
import { demandNames, demandNoRemoval, demandSecurity, wantedAdvised } from "../rpm/demands.ts";
import { nevraOf } from "../rpm/names.ts";
import { demandLists } from "../rpm/offers.ts";
import type { Asking } from "./asking.ts";
import { changesOf, simulate, sizesOf } from "./simulation.ts";
import type { TableRow } from "./table.ts";
import type { createOffers, Offers } from "./updates.ts";

/** How often what takes the place of others is left out before it is seen that there is no way without it. */
const mostRounds = 5;

/** What a request comes to; see the port. */
export function createSimulate(ports: {
  readonly asking: Asking;
  readonly offers: ReturnType<typeof createOffers>;
}): (request: UpdateRequest, signal: AbortSignal) => Promise<TransactionPlan> {
  const { asking, offers } = ports;

  /** What an upgrade would do. Packages take the place of others only in one of the whole system. */
  const rowsOf = async (
    { type }: UpdateRequest,
    operands: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly TableRow[]> => {
    const words = ["upgrade", ...(operands.length > 0 ? ["--", ...operands] : [])];
    const excluded = new Set<string>();
    for (let round = 1; ; round += 1) {
      const rows = await simulate(asking, [...[...excluded].map((name) => `--exclude=${name}`), ...words], signal);
      const taking = rows.filter(({ kind, replaces }) => kind === "install" && replaces.length > 0);
      if (type !== "packages" || taking.length === 0 || round > mostRounds) return rows;
      // An option of dnf says that none should, and a plain upgrade does not heed it.
      for (const { name } of taking) excluded.add(name);
    }
  };

  const planOf = async (request: UpdateRequest, found: Offers, signal: AbortSignal): Promise<TransactionPlan> => {
    const { names, isSecurityOnly, type } = request;
    const { database, advised } = found;
    if (names !== undefined) demandNames(names, database);
    const wanted = wantedAdvised(advised, database, names);
    const operands = isSecurityOnly ? wanted.map(nevraOf) : (names ?? []);
    // Without operands it would be an upgrade of everything.
    if (operands.length === 0 && (isSecurityOnly || names !== undefined)) return noChanges;
    const rows = await rowsOf(request, operands, signal);
    const plain = changesOf(rows, database.packages);
    if (isSecurityOnly) demandSecurity(plain, wanted);
    if (type === "packages") demandNoRemoval("dnf", plain);
    const changes = plain.map((change): PackageChange => {
      const { name, architecture, from, to } = change;
      const isSecurity = to !== null && isSecurityStep({ name, architecture, version: to }, advised, from);
      return { ...change, isSecurity };
    });
    return { changes, ...(await sizesOf(asking, changes, database.packages, signal)) };
  };

  const plan = async (request: UpdateRequest, signal: AbortSignal): Promise<TransactionPlan> =>
    planOf(request, await offers(signal), signal);
  return (request, signal) => demandLists(plan(request, signal));
}
