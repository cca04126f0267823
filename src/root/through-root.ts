import type { PackageManager } from "#domain/ports/packages.ts";
import type { SnapshotReader } from "#domain/ports/snapshots.ts";
import type {
  Confirmation,
  FoundUnit,
  LastingVerb,
  NamedUnit,
  UnitFileJob,
  UnitFileVerb,
  UnitJob,
  Units,
  UnitVerb,
} from "#domain/ports/units.ts";
import { nameOf, unconfirmed } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import { createSharedRun } from "#kernel/shared-run.ts";
import { defined } from "#kernel/values.ts";
import type { RequestRoot, RootSide } from "./request.ts";

/** The port itself, where this process may do everything; else with the methods that it requests from root. */
export const throughRoot = <Port extends object>(
  own: Port,
  rootSide: Pick<RootSide, "request"> | undefined,
  methods: (request: RequestRoot) => Partial<Port>,
): Port => (rootSide === undefined ? own : { ...own, ...methods(rootSide.request) });

/** What polkit, which has the default policy, does not permit. */
const needsRoot = ({ isWidened, refusal }: FoundUnit, { isConfirmed }: Confirmation): boolean =>
  isWidened || (isConfirmed && refusal?.isConfirmable === true);

const never = new AbortController().signal;

/** Root changes services that the settings permit and the polkit rule, which has the default, does not, and all unit files. */
export function unitsThroughRoot(
  units: Pick<Units, "read" | "resetFailed" | UnitVerb>,
  request: RequestRoot,
): Pick<Units, "resetFailed" | UnitVerb | UnitFileVerb> {
  const toRoot = (unit: NamedUnit, { isConfirmed }: Confirmation) => ({
    name: nameOf(unit),
    ...(isConfirmed && { confirm: true }),
  });
  const read = (unit: NamedUnit) => (typeof unit === "string" ? units.read(unit) : Promise.resolve(unit));
  const change =
    (verb: UnitVerb): UnitJob =>
    async (given, signal, confirmation = unconfirmed) => {
      const unit = await read(given);
      return needsRoot(unit, confirmation)
        ? request(`services.${verb}`, toRoot(unit, confirmation), signal)
        : units[verb](unit, signal, confirmation);
    };
  const changeFile =
    (verb: Exclude<UnitFileVerb, LastingVerb>): UnitFileJob =>
    (unit, confirmation = unconfirmed) =>
      request(`services.${verb}`, toRoot(unit, confirmation), never);
  return {
    enable: changeFile("enable"),
    disable: (unit) => request("services.disable", { name: nameOf(unit) }, never),
    mask: (unit) => request("services.mask", { name: nameOf(unit) }, never),
    unmask: changeFile("unmask"),
    start: change("start"),
    stop: change("stop"),
    restart: change("restart"),
    reload: change("reload"),
    async resetFailed(given, confirmation = unconfirmed) {
      const unit = await read(given);
      return needsRoot(unit, confirmation)
        ? request("services.reset_failed", toRoot(unit, confirmation), never)
        : units.resetFailed(unit, confirmation);
    },
  };
}

/** How old an answer about services that run what was replaced may be. */
const needsAgeMs = 15_000;

export function managerThroughRoot(
  manager: PackageManager,
  request: RequestRoot,
  clock: Pick<Clock, "monotonicMs">,
): Partial<PackageManager> & Pick<PackageManager, "lists" | "restartNeeds"> {
  type Needs = Awaited<ReturnType<PackageManager["restartNeeds"]>>;
  // Shared, but not so that all fail with the one who has asked first and has gone.
  const askNeeds = createSharedRun((signal) => request("packages.restart_needs", {}, signal));
  let known: { readonly atMs: number; readonly needs: Needs } | undefined;
  let refreshes = 0;
  return {
    lists: {
      ...manager.lists,
      async refresh(_progress, signal) {
        await request("packages.refresh", {}, signal);
        refreshes += 1;
        known = undefined;
      },
      ...(manager.capabilities.isImageBased && {
        release: async (signal) => (await request("packages.release", {}, signal)).release,
      }),
    },
    holds: {
      ...manager.holds,
      set: ({ isHeld, packages }, signal) =>
        request(
          "packages.hold",
          { isHeld, packages: packages.map(({ name, architecture }) => ({ name, architecture })) },
          signal,
        ),
    },
    ...(manager.capabilities.isPlannedByRoot && {
      plan(asked, signal) {
        if ("change" in asked) return request("packages.plan_change", asked, signal);
        const { names, ...rest } = asked;
        return request("packages.simulate", { ...rest, ...defined({ names }) }, signal);
      },
    }),
    async restartNeeds(signal) {
      const atMs = clock.monotonicMs();
      if (known !== undefined && atMs - known.atMs <= needsAgeMs) return known.needs;
      const before = refreshes;
      const needs = await askNeeds(signal);
      if (before === refreshes) known = { atMs, needs };
      return needs;
    },
  };
}

export const snapshotsThroughRoot = (request: RequestRoot): Partial<SnapshotReader> => ({
  list: (signal) => request("snapshots.list", {}, signal),
  diff: (id, signal) => request("snapshots.diff", { id }, signal),
  compareFile: async (id, path, signal) => (await request("snapshots.compare_file", { id, path }, signal)).comparison,
  verify: (id, signal) => request("snapshots.verify", { id }, signal),
  lacking: (wanted, signal) => request("snapshots.lacking", { wanted }, signal),
});
