import { rootCheckIds } from "#contract/root-tasks.ts";
import type { Check, Outcome } from "#domain/health/check.ts";
import type { Fix } from "#domain/health/fix.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { PluginSandbox } from "#domain/ports/plugins.ts";
import type { SnapshotBackend } from "#domain/ports/snapshots.ts";
import type { Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import type { AskFor } from "./door.ts";

/** Fixes that are begun here and done elsewhere by themselves: an operation is. */
const fixesOfService: readonly string[] = ["apply_security_updates"];

/** How long a round of checks is good for those of it that have not been looked at yet. */
const roundMs = 1_500;
/** How old an answer about services that run what was replaced may be. */
const needsAgeMs = 15_000;

/**
 * The checks and the fixes, those that need root done by it. Checks all at a time, since they come due together and a task takes its
 * start; but after a fix what is seen is of after it.
 */
export function healthThroughDoor(
  checks: readonly Check[],
  ask: AskFor,
  clock: Pick<Clock, "monotonicMs">,
  /** Monitoring plugins that root's settings give to root. */
  pluginIds: readonly string[] = [],
): { readonly checks: readonly Check[]; readonly fix: (fix: Fix) => Fix } {
  const ids = rootCheckIds.filter((id) => checks.some((check) => check.id === id));
  type Round = Promise<Readonly<Record<string, Outcome>>>;
  let latest: { readonly atMs: number; readonly round: Round; readonly left: Set<string> } | undefined;
  const outcomeOf = async (id: string): Promise<Outcome> => {
    const atMs = clock.monotonicMs();
    if (latest === undefined || atMs - latest.atMs > roundMs || !latest.left.delete(id)) {
      // Of more checks than the one that begins it, so that no signal of one of them ends it.
      const { signal } = new AbortController();
      const round = ask("checks.run", { check_ids: ids }, signal).then(({ outcomes }) => outcomes);
      latest = { atMs, round, left: new Set(ids.filter((each) => each !== id)) };
    }
    const outcome = (await latest.round)[id];
    if (outcome === undefined) throw new Error("root's side does not have this check, or has it switched off");
    return outcome;
  };

  const forget = (): void => {
    latest = undefined;
  };
  return {
    checks: checks.map((check): Check => {
      if (ids.some((id) => id === check.id)) return { ...check, run: () => outcomeOf(check.id) };
      if (!pluginIds.includes(check.id)) return check;
      // By itself: nobody else is to wait for it.
      const run = async (signal: AbortSignal): Promise<Outcome> =>
        (await ask("monitoring.run", { check_id: check.id }, signal)).outcome;
      return { ...check, run: (_, signal) => run(signal) };
    }),
    fix(fix) {
      const check = checks.find(({ fixes: own = [] }) => own.includes(fix.id));
      return check === undefined || fixesOfService.includes(fix.id) ? fix : fixThroughDoor(fix, check.id, ask, forget);
    },
  };
}

/** A fix that root plans and carries out, from its own look at what is wrong. */
function fixThroughDoor(fix: Fix, checkId: string, ask: AskFor, onDone: () => void): Fix {
  const request = { check_id: checkId, fix_id: fix.id };
  return {
    ...fix,
    async plan(_found, signal) {
      const { actions, ...rest } = await ask("fix.plan", request, signal);
      const run = (): Promise<never> => Promise.reject(new Error("it is carried out together with the others"));
      return { ...rest, steps: actions.map((action) => ({ action, run })) };
    },
    async carryOut({ units = [] }, signal) {
      const { steps } = await ask("fix.steps", { ...request, units: [...units] }, signal).finally(onDone);
      return steps;
    },
  };
}

/** Services, those restarted by root that the settings permit and the polkit rule, which has the default, does not. */
export function unitsThroughDoor<U extends Pick<Units, "read" | "restart" | "resetFailed">>(units: U, ask: AskFor): U {
  const never = new AbortController().signal;
  return {
    ...units,
    async restart(name: string, signal: AbortSignal) {
      if (!(await units.read(name)).isWidened) return units.restart(name, signal);
      return (await ask("services.restart", { name }, signal)).jobResult;
    },
    async resetFailed(name: string) {
      if ((await units.read(name)).isWidened) await ask("services.reset_failed", { name }, never);
      else await units.resetFailed(name);
    },
  };
}

/** The package manager, asked by the service itself where everybody may ask it. */
export function managerThroughDoor(
  manager: PackageManager,
  ask: AskFor,
  clock: Pick<Clock, "monotonicMs">,
): PackageManager {
  type Needs = Awaited<ReturnType<PackageManager["restartNeeds"]>>;
  let known: { readonly atMs: number; readonly needs: Promise<Needs> } | undefined;
  return {
    ...manager,
    refresh: async (_progress, signal) => {
      await ask("packages.refresh", {}, signal);
      known = undefined;
    },
    restartNeeds(signal) {
      const atMs = clock.monotonicMs();
      if (known === undefined || atMs - known.atMs > needsAgeMs) {
        const asked = { atMs, needs: ask("packages.restart_needs", {}, signal) };
        known = asked;
        asked.needs.catch(() => {
          if (known === asked) known = undefined;
        });
      }
      return known.needs;
    },
  };
}

const byOperation = (): Promise<never> => Promise.reject(new Error("it is done in an operation, by root"));

/** What root keeps snapshots with. What changes them is an operation. */
export async function backendsThroughDoor(ask: AskFor, signal: AbortSignal): Promise<readonly SnapshotBackend[]> {
  const { backends } = await ask("snapshots.backends", {}, signal);
  return backends.map(({ name: backend, needsReboot }) => ({
    name: backend,
    needsReboot,
    list: async (during) => (await ask("snapshots.list", { backend }, during)).snapshots,
    diff: (id, during) => ask("snapshots.diff", { backend, id }, during),
    verify: async (id, during) => void (await ask("snapshots.verify", { backend, id }, during)),
    create: byOperation,
    remove: byOperation,
    rollback: byOperation,
    tidy: byOperation,
  }));
}

/** Plugins in the sandbox that root can give them. */
export function sandboxThroughDoor(ask: AskFor, description: string): PluginSandbox {
  return {
    description,
    run({ manifest: { timeoutMs, role }, path, digest, args, stdin }, signal) {
      const call = { path, digest, timeoutMs, ...(stdin !== undefined && { stdin }) };
      return role.type === "command"
        ? ask("plugin.run", { ...call, args: [...args] }, signal)
        : ask("plugin.call", call, signal);
    },
    async tryStart({ path, digest }, signal) {
      await ask("plugin.try_start", { path, digest }, signal);
    },
  };
}
