import { release } from "node:os";
import { join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import {
  type ChangeRequest,
  noChanges,
  type PackageChange,
  type PackageManager,
  type TransactionPlan,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { demandNames, removalOf } from "../common/changes.ts";
import { createPattern } from "../common/rpm/names.ts";
import type { Pacman, PacmanDatabase } from "./host.ts";
import { hasHostLists } from "./lists.ts";
import { type DescribedPackage, isPackageName } from "./records.ts";
import {
  demandUnheld,
  fetchDetails,
  isMeant,
  type PlannedChange,
  type PrintedRow,
  planFrom,
  rehearse,
} from "./simulation.ts";

/** @throws UpdateRefused for names of groups, and for what is only provided by others. */
function demandNamed(names: readonly string[], rows: readonly PrintedRow[], { packages }: PacmanDatabase): void {
  const known = new Set([...packages, ...rows].map(({ name }) => name));
  const wrong = names.find((name) => !known.has(name));
  if (wrong !== undefined)
    throw new UpdateRefused(`${wrong} is not a package: name the packages of a group, or one of those that provide it`);
}

/** @throws UpdateRefused where what is there would become another version: packages fit together only as a whole. */
function demandOnlyNew(changes: readonly PackageChange[]): void {
  const other = changes.find(({ from }) => from !== null);
  if (other !== undefined)
    throw new UpdateRefused(
      `${other.name} would become ${other.to ?? "removed"}, and pacman's packages are updated all together or not at all: update everything first`,
    );
}

/** @throws UpdateRefused for a conflict, which pacman reports only when it carries the plan out. */
function demandNoConflict(details: readonly DescribedPackage[], { packages }: PacmanDatabase): void {
  for (const { name, conflicts } of details) {
    const other = packages.find((each) => each.name !== name && conflicts.some((what) => isMeant(what, each)));
    if (other !== undefined) throw new UpdateRefused(`${name} and ${other.name} are in conflict`);
  }
}

/** By the lists of the host: of the newer ones of the service's own, a package might not fit to those that are there. */
async function planInstall(pacman: Pacman, names: readonly string[], signal: AbortSignal): Promise<PlannedChange> {
  const { places, database } = pacman;
  const state = await database(signal);
  demandNames(names, state, isPackageName, true);
  if (!(await hasHostLists(places)))
    throw new UpdateRefused("the host has no package lists: they come with an update of everything");
  const rows = await rehearse(pacman, places.databases, ["-S", "--needed", "--", ...new Set(names)], signal);
  demandNamed(names, rows, state);
  if (rows.length === 0) return { plan: noChanges, rows };
  const details = await fetchDetails(pacman, places.databases, rows, signal);
  demandNoConflict(details, state);
  // Only an update puts packages in the place of others.
  const plan = planFrom(
    rows,
    details.map((each) => ({ ...each, replaces: [] })),
    state.packages,
  );
  demandOnlyNew(plan.changes);
  const changes = plan.changes.map((each) =>
    names.includes(each.name) ? { ...each, isRequested: true as const } : each,
  );
  return { plan: { ...plan, changes }, rows };
}

/** What depends on what goes, goes as well; what nobody needs any more stays. */
async function planRemoval(pacman: Pacman, names: readonly string[], signal: AbortSignal): Promise<PlannedChange> {
  const state = await pacman.database(signal);
  demandNames(names, state, isPackageName);
  const rows = await rehearse(pacman, pacman.places.databases, ["-R", "--cascade", "--", ...new Set(names)], signal);
  const gone = new Set(rows.map(({ name }) => name));
  const removed = state.packages.filter(({ name }) => gone.has(name));
  const changes = removed.map((each): PackageChange => ({ ...removalOf(each), isSecurity: false }));
  demandUnheld(changes, state);
  const diskBytes = -removed.reduce((sum, { installedBytes }) => sum + (installedBytes ?? 0), 0);
  return { plan: { changes, downloadBytes: 0, diskBytes }, rows };
}

/** What was asked for, as far as a plan reports. */
export type RequestedChange = Pick<ChangeRequest, "change" | "names">;

/** Plans that packages come or go. */
export async function planChange(
  pacman: Pacman,
  request: RequestedChange,
  signal: AbortSignal,
): Promise<PlannedChange> {
  if (request.change === "install") return planInstall(pacman, request.names, signal);
  const { plan, rows } = await planRemoval(pacman, request.names, signal);
  return { plan: request.change === "purge" ? { ...plan, isPurge: true } : plan, rows };
}

/** What a plan was made for, unless that was an update. */
export function requestOf({ changes, isPurge }: TransactionPlan): RequestedChange | undefined {
  const requested = changes.filter(({ isRequested }) => isRequested).map(({ name }) => name);
  if (requested.length > 0) return { change: "install", names: requested };
  if (changes.some(({ to }) => to !== null)) return undefined;
  return { change: isPurge ? "purge" : "remove", names: changes.map(({ name }) => name) };
}

/** @param running the release of the kernel that runs. */
export const createUnremovable =
  ({ settings, database, root }: Pacman, running = release()): PackageManager["unremovable"] =>
  async (signal) => {
    const isKept = (await settings("HoldPkg", signal)).map(createPattern);
    const kept = (await database(signal)).packages.filter(({ name }) => isKept.some((matches) => matches(name)));
    // Packages of kernels leave their name beside the modules.
    const kernel = (await readTextOrEmpty(join(root, "usr/lib/modules", running, "pkgbase"))).trim();
    return new Map([
      ...kept.map(({ name }) => [name, "pacman's settings hold it (HoldPkg)"] as const),
      ...(kernel === "" ? [] : [[kernel, "its kernel runs"] as const]),
      // Without these a host starts no more, or cannot be helped with packages.
      ...["systemd", "systemd-sysvcompat"].map((name) => [name, "the host starts with it"] as const),
      ["pacman", "it is the package manager"],
    ]);
  };
