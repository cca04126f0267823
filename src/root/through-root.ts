import type { Check, CheckSettings, Outcome, PreviousGrades } from "#domain/health/check.ts";
import type { Fix } from "#domain/health/fix.ts";
import type { ChangeRequest, HoldRequest, PackageManager, UpdateRequest } from "#domain/ports/packages.ts";
import type { PluginSandbox } from "#domain/ports/plugins.ts";
import type { Reboots } from "#domain/ports/reboots.ts";
import type { SnapshotBackend } from "#domain/ports/snapshots.ts";
import { FileSystemsUnseen } from "#domain/ports/storage.ts";
import type {
  Confirmation,
  FoundUnit,
  LastingVerb,
  UnitFileJob,
  UnitFileVerb,
  UnitJob,
  Units,
  UnitVerb,
} from "#domain/ports/units.ts";
import { unconfirmed } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import { createSharedRun } from "#kernel/shared-run.ts";
import { defined } from "#kernel/values.ts";
import type { RequestRoot, RootSide } from "./request.ts";
import { fileSystemCheckIds, rootCheckIds, separateRootCheckIds } from "./tasks.ts";

/** Fixes that begin an operation, which the service does. */
export const fixesOfService: readonly string[] = ["apply_security_updates"];

/** How old an answer about services that run what was replaced may be. */
const needsAgeMs = 15_000;

/** What decides near a threshold: a check that passed, with nothing held, needs nothing said. */
const isHolding = ({ status, objects }: PreviousGrades): boolean =>
  objects === undefined ? status === "warn" || status === "fail" : Object.keys(objects).length > 0;

function outcomeIn(outcomes: Readonly<Record<string, Outcome>>, id: string): Outcome {
  const outcome = outcomes[id];
  if (outcome === undefined) throw new Error("root's side does not have this check, or has it switched off");
  return outcome;
}

/** Checks that need root run together where they are asked for together: who asks later gets a later look. */
export function healthThroughRoot(
  checks: readonly Check[],
  { request, openFix }: Pick<RootSide, "request" | "openFix">,
  clock: Pick<Clock, "monotonicMs">,
  /** Monitoring plugins that root's settings give to root. */
  pluginIds: readonly string[] = [],
): Pick<RootSide, "openFix"> & { readonly checks: readonly Check[]; readonly fix: (fix: Fix) => Fix } {
  const isSeparate = (id: string): boolean => separateRootCheckIds.some((each) => each === id);
  const isPlugin = (id: string): boolean => pluginIds.includes(id);
  const ids = rootCheckIds.filter((id) => !isSeparate(id) && checks.some((check) => check.id === id));
  type Round = Promise<Readonly<Record<string, Outcome>>>;
  let latest: { readonly atMs: number; readonly round: Round; readonly left: Set<string> } | undefined;
  /** What each check said last, for rounds that another one begins. */
  const known = new Map<string, PreviousGrades | undefined>();
  /** Checks of file systems that the service could look at the last time. */
  const seenHere = new Set<string>();
  const ask = async (asked: readonly (typeof rootCheckIds)[number][], signal: AbortSignal) => {
    const held = asked.flatMap((id) => {
      const previous = known.get(id);
      return previous !== undefined && isHolding(previous) ? [[id, previous] as const] : [];
    });
    const { outcomes } = await request(
      "checks.run",
      { check_ids: [...asked], ...(held.length > 0 && { previous: Object.fromEntries(held) }) },
      signal,
    );
    for (const id of asked) {
      const { status, graded = status === "pass" ? {} : known.get(id)?.objects } = outcomes[id] ?? {};
      if (status !== undefined && known.has(id)) known.set(id, { status, ...defined({ objects: graded }) });
    }
    return outcomes;
  };
  const outcomeOf = async (
    id: string,
    { previous }: CheckSettings,
    askedAtMs = clock.monotonicMs(),
  ): Promise<Outcome> => {
    // After a start only the check itself knows what it said before: the round of another was asked for without it.
    if (!known.has(id) && previous !== undefined && isHolding(previous)) latest?.left.delete(id);
    known.set(id, previous);
    if (latest === undefined || latest.atMs < askedAtMs || !latest.left.delete(id)) {
      // Of more checks than the one that begins it, so that no signal of one of them ends it.
      const { signal } = new AbortController();
      const asked = ids.filter((each) => !seenHere.has(each));
      const round = ask(asked, signal);
      latest = { atMs: clock.monotonicMs(), round, left: new Set(asked.filter((each) => each !== id)) };
    }
    return outcomeIn(await latest.round, id);
  };

  /** Undefined where the service cannot look at every file system of the host: only then root is asked. */
  const outcomeHere = async (check: Check, settings: CheckSettings, signal: AbortSignal) => {
    if (!fileSystemCheckIds.some((id) => id === check.id)) return undefined;
    try {
      const outcome = await check.run(settings, signal);
      seenHere.add(check.id);
      return outcome;
    } catch (error) {
      if (!(error instanceof FileSystemsUnseen)) throw error;
      seenHere.delete(check.id);
      return undefined;
    }
  };

  return {
    checks: checks.map((check): Check => {
      if (ids.some((id) => id === check.id))
        return {
          ...check,
          group: "root",
          run: async (settings, signal, askedAtMs) =>
            (await outcomeHere(check, settings, signal)) ?? outcomeOf(check.id, settings, askedAtMs),
        };
      const separate = separateRootCheckIds.find((id) => id === check.id && !isPlugin(id));
      if (separate !== undefined) {
        return {
          ...check,
          async run({ previous }, signal) {
            const absent = await check.absent?.();
            if (absent !== undefined) return absent;
            known.set(separate, previous);
            return outcomeIn(await ask([separate], signal), separate);
          },
        };
      }
      if (!isPlugin(check.id)) return check;
      // By itself: nobody else is to wait for it.
      const run = async (signal: AbortSignal): Promise<Outcome> =>
        (await request("monitoring.run", { check_id: check.id }, signal)).outcome;
      return { ...check, run: (_, signal) => run(signal) };
    }),
    fix(fix) {
      const check = checks.find(({ fixes: own = [] }) => own.includes(fix.id));
      if (check === undefined || fixesOfService.includes(fix.id)) return fix;
      return {
        ...fix,
        async plan(_found, signal) {
          const { plan, found, close } = await openFix(check.id, signal);
          await close();
          const { steps, ...rest } = plan ?? { steps: [], reason: `nothing to fix: ${found.message}` };
          return { ...rest, steps: steps.map(({ action }) => ({ action, run: byRoot })) };
        },
      };
    },
    openFix,
  };
}

const byRoot = (): Promise<never> => Promise.reject(new Error("root carries it out, in the process that planned it"));

/** What polkit, which has the default policy, does not permit. */
const needsRoot = ({ isWidened, refusal }: FoundUnit, { isConfirmed }: Confirmation): boolean =>
  isWidened || (isConfirmed && refusal?.isConfirmable === true);

const toRoot = (name: string, { isConfirmed }: Confirmation) => ({ name, ...(isConfirmed && { confirm: true }) });

/** Services. Root changes those that the settings permit and the polkit rule, which has the default, does not, and all unit files. */
export function unitsThroughRoot<U extends Pick<Units, "read" | "resetFailed" | UnitVerb | UnitFileVerb>>(
  units: U,
  request: RequestRoot,
): U {
  const never = new AbortController().signal;
  const change =
    (verb: UnitVerb): UnitJob =>
    async (name, signal, confirmation = unconfirmed) => {
      if (!needsRoot(await units.read(name), confirmation)) return units[verb](name, signal, confirmation);
      return (await request(`services.${verb}`, toRoot(name, confirmation), signal)).jobResult;
    };
  const changeFile =
    (verb: Exclude<UnitFileVerb, LastingVerb>): UnitFileJob =>
    async (name, confirmation = unconfirmed) =>
      (await request(`services.${verb}`, toRoot(name, confirmation), never)).changes;
  const changeForGood =
    (verb: LastingVerb): UnitFileJob =>
    async (name) =>
      (await request(`services.${verb}`, { name }, never)).changes;
  return {
    ...units,
    enable: changeFile("enable"),
    disable: changeForGood("disable"),
    mask: changeForGood("mask"),
    unmask: changeFile("unmask"),
    start: change("start"),
    stop: change("stop"),
    restart: change("restart"),
    reload: change("reload"),
    async resetFailed(name: string, confirmation: Confirmation = unconfirmed) {
      if (needsRoot(await units.read(name), confirmation))
        await request("services.reset_failed", toRoot(name, confirmation), never);
      else await units.resetFailed(name, confirmation);
    },
  };
}

export function managerThroughRoot(
  manager: PackageManager,
  request: RequestRoot,
  clock: Pick<Clock, "monotonicMs">,
): PackageManager {
  type Needs = Awaited<ReturnType<PackageManager["restartNeeds"]>>;
  // Shared, but not so that all fail with the one who has asked first and has gone.
  const askNeeds = createSharedRun((signal) => request("packages.restart_needs", {}, signal));
  let known: { readonly atMs: number; readonly needs: Needs } | undefined;
  let refreshes = 0;
  return {
    ...manager,
    lists: {
      ...manager.lists,
      async refresh(_progress, signal) {
        await request("packages.refresh", {}, signal);
        refreshes += 1;
        known = undefined;
      },
      ...(manager.capabilities.isImageBased && {
        release: async (signal: AbortSignal) => (await request("packages.release", {}, signal)).release,
      }),
    },
    holds: {
      lack: manager.holds.lack,
      set: ({ isHeld, packages }: HoldRequest, signal: AbortSignal) =>
        request(
          "packages.hold",
          { isHeld, packages: packages.map(({ name, architecture }) => ({ name, architecture })) },
          signal,
        ),
    },
    ...(manager.capabilities.isPlannedByRoot && {
      plan: ({ names, ...asked }: UpdateRequest | ChangeRequest, signal: AbortSignal) =>
        "change" in asked
          ? request("packages.plan_change", { request: { ...asked, names: [...(names ?? [])] } }, signal)
          : request("packages.simulate", { request: { ...asked, ...(names && { names: [...names] }) } }, signal),
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

export const rebootsThroughRoot = (request: RequestRoot): Reboots => ({
  state: (signal) => request("reboot.state", {}, signal),
  schedule: async (at, options, signal) => void (await request("reboot.schedule", { at, ...options }, signal)),
  cancel: async (signal) => void (await request("reboot.cancel", {}, signal)),
});

const byOperation = (): Promise<never> => Promise.reject(new Error("it is done in an operation, by root"));

export function snapshotsThroughRoot(request: RequestRoot, folder: SnapshotBackend["folder"]): SnapshotBackend {
  return {
    folder,
    list: async (signal) => (await request("snapshots.list", {}, signal)).snapshots,
    diff: (id, signal) => request("snapshots.diff", { id }, signal),
    compareFile: async (id, path, signal) => (await request("snapshots.compare_file", { id, path }, signal)).comparison,
    verify: async (id, signal) => void (await request("snapshots.verify", { id }, signal)),
    lacking: async (wanted, signal) => (await request("snapshots.lacking", { wanted: [...wanted] }, signal)).lacks,
    create: byOperation,
    keep: byOperation,
    recordChanges: byOperation,
    remove: byOperation,
    rollback: byOperation,
    tidy: byOperation,
  };
}

export function sandboxThroughRoot(request: RequestRoot, description: string): PluginSandbox {
  return {
    description,
    run({ manifest: { timeoutMs, role }, path, digest, args, stdin }, signal) {
      const call = { path, digest, timeoutMs, ...(stdin !== undefined && { stdin }) };
      return role.type === "command"
        ? request("plugin.run", { ...call, args: [...args] }, signal)
        : request("plugin.call", call, signal);
    },
    async tryStart({ path, digest }, signal) {
      await request("plugin.try_start", { path, digest }, signal);
    },
  };
}
