import {
  type ChangeRequest,
  type PackageChange,
  type PackageVersion,
  type TransactionPlan,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { PlainChange } from "../changes.ts";
import type { Asks } from "../ports.ts";
import { isWanted, nameAndArchitecture, type Wanted, wantedOf } from "./names.ts";
import { type AdvisedRpm, demandLists, isSecurityStep, type RpmState } from "./offers.ts";

/** What would be done. */
export interface PlannedChange {
  readonly changes: readonly PlainChange[];
  readonly sizes: () => Promise<Omit<TransactionPlan, "changes">>;
}

interface Asked extends Wanted {
  /** As it was asked for. */
  readonly text: string;
}

const notAPackage = (text: string): UpdateRefused =>
  new UpdateRefused(`${text} is not a package (a name that others provide is not one: name one of them)`);

const misnamed = (text: string, { name, architecture }: Pick<PackageVersion, "name" | "architecture">) =>
  new UpdateRefused(`${text} is not the name of a package: an architecture follows a colon (${name}:${architecture})`);

/** @throws UpdateRefused for no name, what is held, and what is not there to be removed. */
function askedIn({ change, names }: ChangeRequest, { packages, isHeld }: RpmState): readonly Asked[] {
  const architectures = new Set(packages.map(({ architecture }) => architecture));
  return [...new Set(names)].map((text) => {
    const wanted = wantedOf(text);
    if (wanted === undefined) throw new UpdateRefused(`${text} is not a package name`);
    const found = packages.filter((each) => isWanted(each, wanted));
    const [, name, architecture = ""] = /^(.+)\.(\w+)$/.exec(text) ?? [];
    if (found.length === 0 && name !== undefined && architectures.has(architecture))
      throw misnamed(text, { name, architecture });
    if (change !== "install" && found.length === 0) throw new UpdateRefused(`${text} is not installed`);
    if (found.some(isHeld)) throw new UpdateRefused(`${text} is held at its version`);
    return { ...wanted, text };
  });
}

function isThereAfter(wanted: Wanted, changes: readonly PlainChange[], { packages }: RpmState): boolean {
  const own = changes.filter((each) => isWanted(each, wanted));
  return own.some(({ to }) => to !== null) || (own.length === 0 && packages.some((each) => isWanted(each, wanted)));
}

/** To dnf and zypper a name may stand for a version or for what another package provides. @throws UpdateRefused */
function demandNamed(asked: readonly Asked[], changes: readonly PlainChange[], { packages }: RpmState): void {
  for (const wanted of asked) {
    if ([...packages, ...changes].some((each) => isWanted(each, wanted))) continue;
    const meant = changes.find((each) => nameAndArchitecture(each) === wanted.text);
    throw meant === undefined ? notAPackage(wanted.text) : misnamed(wanted.text, meant);
  }
}

/** @throws UpdateRefused for what would change although it is held. */
function demandUnheld(changes: readonly PlainChange[], { isHeld }: RpmState): void {
  const held = changes.find(
    ({ name, architecture, from }) => from !== null && isHeld({ name, architecture, version: from }),
  );
  if (held === undefined) return;
  const what = held.to === null ? "removed" : held.to;
  throw new UpdateRefused(`${held.name} would have to be ${what}, and is held at its version`);
}

/** In what dnf or zypper say: the name that they do not know. */
const unknownIn = (reason: string): string | undefined =>
  /(?:^|; |: )(?:No match for argument: |Package ')([^\s;']+)/.exec(reason)?.[1];

/**
 * Plans that packages come or go.
 * @param host.install `mayErase`: whether what is in conflict with them may go.
 */
export function createPlanChange<State extends RpmState>(host: {
  readonly database: Asks<State>;
  readonly advised: Asks<readonly AdvisedRpm[]>;
  readonly install: (
    wanted: readonly Wanted[],
    mayErase: boolean,
    state: State,
    signal: AbortSignal,
  ) => Promise<PlannedChange>;
  readonly remove: (packages: readonly PackageVersion[], state: State, signal: AbortSignal) => Promise<PlannedChange>;
}): (request: ChangeRequest, signal: AbortSignal) => Promise<TransactionPlan> {
  const { database, advised, install, remove } = host;

  /** Nothing is removed for it that could stay. */
  const installation = async (asked: readonly Asked[], state: State, signal: AbortSignal): Promise<PlannedChange> => {
    try {
      return await install(asked, false, state, signal);
    } catch (error) {
      if (!(error instanceof UpdateRefused)) throw error;
      const unknown = unknownIn(error.message);
      if (unknown !== undefined) throw notAPackage(unknown);
      const erasing = await orUndefined(install(asked, true, state, signal), (other) => other instanceof UpdateRefused);
      if (erasing === undefined || !asked.every((each) => isThereAfter(each, erasing.changes, state))) throw error;
      return erasing;
    }
  };

  const described = async (
    { change }: ChangeRequest,
    asked: readonly Asked[],
    changes: readonly PlainChange[],
    signal: AbortSignal,
  ): Promise<readonly PackageChange[]> => {
    const isUpdate = changes.some(({ from, to }) => from !== null && to !== null);
    const known = isUpdate ? await advised(signal) : [];
    return changes.map((each) => {
      const { name, architecture, from, to } = each;
      const isSecurity =
        from !== null && to !== null && isSecurityStep({ name, architecture, version: to }, known, from);
      const isRequested = change === "install" && to !== null && asked.some((wanted) => isWanted(each, wanted));
      return { ...each, isSecurity, ...(isRequested && { isRequested }) };
    });
  };

  const plan = async (request: ChangeRequest, signal: AbortSignal): Promise<TransactionPlan> => {
    const state = await database(signal);
    const asked = askedIn(request, state);
    const { changes, sizes } =
      request.change === "install"
        ? await installation(asked, state, signal)
        : await remove(
            state.packages.filter((each) => asked.some((wanted) => isWanted(each, wanted))),
            state,
            signal,
          );
    demandNamed(asked, changes, state);
    demandUnheld(changes, state);
    return {
      changes: await described(request, asked, changes, signal),
      ...(await sizes()),
      ...(request.change === "purge" && { isPurge: true }),
    };
  };

  return (request, signal) => demandLists(plan(request, signal));
}
