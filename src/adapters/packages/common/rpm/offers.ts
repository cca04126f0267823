import { CommandFailed } from "#adapters/exec/command.ts";
import {
  type PackageChange,
  type PackageLists,
  type PackageVersion,
  type SecurityUpdate,
  type SystemRelease,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import type { PlainChange } from "../changes.ts";
import { rememberByMark } from "../marks.ts";
import type { Asks } from "../ports.ts";
import { comparePackageVersions, nameAndArchitecture, nevraOf, splitVersion } from "./names.ts";

export interface AdvisedRpm extends PackageVersion {
  /** `FEDORA-2026-0123456789`, `openSUSE-2026-123`. */
  readonly advisory: string;
}

export interface RpmState {
  readonly packages: readonly PackageVersion[];
  readonly isHeld: (found: PackageVersion) => boolean;
  readonly mark: string;
}

/** By name, and versions of one name from the oldest to the newest. */
export const byName = (one: PackageVersion, other: PackageVersion): number =>
  one.name === other.name ? comparePackageVersions(one.version, other.version) : one.name < other.name ? -1 : 1;

export const newestOf = ({ packages }: Pick<RpmState, "packages">): ReadonlyMap<string, PackageVersion> =>
  new Map(packages.map((each) => [nameAndArchitecture(each), each]));

export const isSecurityStep = (to: PackageVersion, advised: readonly PackageVersion[], from: string | null): boolean =>
  advised.some(
    (each) =>
      nameAndArchitecture(each) === nameAndArchitecture(to) &&
      comparePackageVersions(each.version, to.version) <= 0 &&
      (from === null || comparePackageVersions(each.version, from) > 0),
  );

function newestAdvised(advised: readonly AdvisedRpm[]): readonly AdvisedRpm[] {
  const found = new Map<string, AdvisedRpm>();
  for (const each of advised) {
    const other = found.get(nameAndArchitecture(each));
    if (other === undefined || comparePackageVersions(each.version, other.version) > 0)
      found.set(nameAndArchitecture(each), each);
  }
  return [...found.values()];
}

function securityUpdates(
  advised: readonly AdvisedRpm[],
  updates: readonly PackageChange[],
  state: RpmState,
): readonly SecurityUpdate[] {
  const newest = newestOf(state);
  return newestAdvised(advised).flatMap((each) => {
    const installed = newest.get(nameAndArchitecture(each));
    if (installed === undefined) return [];
    const { name, architecture } = each;
    const candidate =
      updates.find((update) => nameAndArchitecture(update) === nameAndArchitecture(each))?.to ?? each.version;
    const suites = [
      ...new Set(
        advised.filter((other) => nameAndArchitecture(other) === nameAndArchitecture(each)).map((one) => one.advisory),
      ),
    ];
    return [{ name, architecture, installed: installed.version, candidate, suites, isHeld: state.isHeld(installed) }];
  });
}

export function wantedAdvised(
  advised: readonly AdvisedRpm[],
  state: RpmState,
  names: readonly string[] | undefined,
): readonly AdvisedRpm[] {
  const newest = newestOf(state);
  return newestAdvised(advised).filter((each) => {
    const installed = newest.get(nameAndArchitecture(each));
    return installed !== undefined && !state.isHeld(installed) && (names?.includes(each.name) ?? true);
  });
}

/** @throws UpdateRefused for what would come along although it closes no hole and is not new. */
export function demandSecurity(changes: readonly PlainChange[], advised: readonly AdvisedRpm[]): void {
  const exact = new Set(advised.map(nevraOf));
  const extra = changes.filter(
    ({ name, architecture, from, to }) =>
      to === null || (from !== null && !exact.has(nevraOf({ name, architecture, version: to }))),
  );
  if (extra.length === 0) return;
  const names = extra.map(({ name, to }) => (to === null ? `the removal of ${name}` : `${name} ${to}`));
  throw new UpdateRefused(`the security updates need more than themselves: ${names.join(", ")}`);
}

export function demandNoRemoval(manager: string, changes: readonly PlainChange[]): void {
  const removed = changes.filter(({ to }) => to === null).map(({ name }) => name);
  if (removed.length > 0) throw new UpdateRefused(`${manager} would have to remove ${removed.join(", ")}`);
}

export class NoLists extends CommandFailed {}

export interface Offers<State> {
  /** What an upgrade would bring, held packages left out. */
  readonly updates: readonly PackageChange[];
  /** Versions that close security holes, newer than what is installed, those of held packages too. */
  readonly advised: readonly AdvisedRpm[];
  readonly database: State;
}

/** What dnf offers, asked again when what it depends on has changed. @param host.mark of lists and settings. */
export function createOffers<State extends RpmState>(host: {
  readonly database: Asks<State>;
  readonly mark: () => Promise<string>;
  readonly updates: Asks<readonly PackageVersion[]>;
  readonly advisories: Asks<readonly AdvisedRpm[]>;
}): Asks<Offers<State>> {
  const remembered = rememberByMark<Omit<Offers<State>, "database">>();

  const askOffers = async (state: State, signal: AbortSignal): Promise<Omit<Offers<State>, "database">> => {
    const newest = newestOf(state);
    const offered = await host.updates(signal);
    const advised = (await host.advisories(signal)).filter((each) => {
      const found = newest.get(nameAndArchitecture(each));
      return found !== undefined && comparePackageVersions(each.version, found.version) > 0;
    });
    return { updates: changesTo(offered, newest, advised), advised };
  };

  return async (signal) => {
    const state = await host.database(signal);
    const mark = `${state.mark}\n${await host.mark()}`;
    return { ...(await remembered(mark, () => askOffers(state, signal))), database: state };
  };
}

export function releaseOf(next: PackageVersion, { advised, database }: Offers<RpmState>): SystemRelease {
  const from = newestOf(database).get(nameAndArchitecture(next))?.version ?? null;
  const isSecurity = isSecurityStep(next, advised, from);
  return { version: splitVersion(next.version).version, releaseDate: "", isSecurity, changelog: "" };
}

export const changesTo = (
  offered: readonly PackageVersion[],
  newest: ReadonlyMap<string, PackageVersion>,
  advised: readonly AdvisedRpm[],
): readonly PackageChange[] =>
  offered.map((to) => {
    const { name, architecture, version } = to;
    const from = newest.get(nameAndArchitecture(to))?.version ?? null;
    return { name, architecture, from, to: version, isSecurity: isSecurityStep(to, advised, from) };
  });

export const orWithoutLists = <T, Otherwise>(work: Promise<T>, otherwise: Otherwise): Promise<T | Otherwise> =>
  work.catch((error: unknown) => {
    if (error instanceof NoLists) return otherwise;
    throw error;
  });

export const demandLists = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    if (!(error instanceof NoLists)) throw error;
    throw new UpdateRefused("there are no package lists: they must be refreshed first");
  });

export function createAvailable(ports: {
  readonly database: Asks<RpmState>;
  readonly offers: Asks<Pick<Offers<unknown>, "updates">>;
  readonly listsAt: Asks<number | undefined>;
}): PackageLists["updates"] {
  const { database, offers, listsAt } = ports;
  return async (signal) => {
    const state = await database(signal);
    const held = [...new Set(state.packages.filter(state.isHeld).map(({ name }) => name))];
    const known = async () => {
      const { updates } = await offers(signal);
      return { updates, held, listsAt: (await listsAt(signal)) ?? null };
    };
    return orWithoutLists(known(), { updates: [], held, listsAt: null });
  };
}

export const createSecurity =
  (offers: Asks<Offers<RpmState>>): PackageLists["security"] =>
  async (signal) => {
    const found = await orWithoutLists(offers(signal), undefined);
    return found === undefined ? [] : securityUpdates(found.advised, found.updates, found.database);
  };
