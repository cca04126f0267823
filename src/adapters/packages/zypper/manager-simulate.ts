import { readFile } from "node:fs/promises";
import type { PackageChange, TransactionPlan, UpdateRequest } from "#domain/ports/packages.ts";
import { noChanges } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { isSecurityStep } from "../rpm/advice.ts";
import { demandNames, demandNoRemoval, demandSecurity, wantedAdvised } from "../rpm/demands.ts";
import { demandLists } from "../rpm/offers.ts";
import type { Asking } from "./asking.ts";
import type { ZypperPlaces } from "./places.ts";
import { simulate } from "./simulation.ts";
import { operandOf } from "./transaction.ts";
import type { createOffers, Offers } from "./updates.ts";

/**
 * Whether a distribution has no releases. Its way of upgrading is then `dup`, which goes to what the repositories have, whatever
 * goes for it; inside a release it is `update`, and `dup` would take what is not in its repositories for something to get rid of.
 */
export const isRolling = (osRelease: string): boolean =>
  /^ID=["']?opensuse-(?:tumbleweed|slowroll|microos)["']?\s*$/m.test(osRelease);

/** What a request comes to; see the port. */
export function createSimulate(ports: {
  readonly asking: Pick<Asking, "tryAsking">;
  readonly offers: ReturnType<typeof createOffers>;
  readonly places: Pick<ZypperPlaces, "osRelease">;
}): (request: UpdateRequest, signal: AbortSignal) => Promise<TransactionPlan> {
  const { asking, offers, places } = ports;

  const wordsFor = async ({ type, names }: UpdateRequest): Promise<readonly string[]> => {
    const osRelease = (await orUndefined(readFile(places.osRelease, "utf8"))) ?? "";
    // Of single packages there is no upgrade of the distribution.
    if (type !== "packages" && names === undefined && isRolling(osRelease)) return ["dup", "--no-recommends"];
    // One that takes the place of another is a removal.
    const keeping = type === "packages" ? ["--no-allow-name-change"] : [];
    return ["update", "--type", "package", "--no-recommends", ...keeping, "--", ...(names ?? [])];
  };

  const planOf = async (request: UpdateRequest, found: Offers, signal: AbortSignal): Promise<TransactionPlan> => {
    const { names, isSecurityOnly, type } = request;
    const { database, advised } = found;
    if (names !== undefined) demandNames(names, database);
    const wanted = wantedAdvised(advised, database, names);
    // Without operands it would be an update of everything.
    if (isSecurityOnly ? wanted.length === 0 : names?.length === 0) return noChanges;
    const exact = ["install", "--no-recommends", "--", ...wanted.map(operandOf)];
    const words = isSecurityOnly ? exact : await wordsFor(request);
    const { changes: plain, ...sizes } = await simulate(asking.tryAsking, words, signal);
    if (isSecurityOnly) demandSecurity(plain, wanted);
    const come = new Set(plain.flatMap(({ name, to }) => (to === null ? [] : [name])));
    // Of a package whose architecture changes only the other half goes.
    if (type === "packages")
      demandNoRemoval(
        "zypper",
        plain.filter(({ name, to }) => to !== null || !come.has(name)),
      );
    const changes = plain.map((change): PackageChange => {
      const { name, architecture, from, to } = change;
      const isSecurity = to !== null && isSecurityStep({ name, architecture, version: to }, advised, from);
      return { ...change, isSecurity };
    });
    return { changes, ...sizes };
  };

  const plan = async (request: UpdateRequest, signal: AbortSignal): Promise<TransactionPlan> =>
    planOf(request, await offers(signal), signal);
  return (request, signal) => demandLists(plan(request, signal));
}
