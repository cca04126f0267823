import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { pluginSettings } from "#config/checks.ts";
import type { Config } from "#config/load.ts";
import type { PluginType } from "#contract/plugins.ts";
import type { RootAsk, RootAskInput, RootAskOutput } from "#contract/root-tasks.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Outcome } from "#domain/health/check.ts";
import type { Fix, FixPlan } from "#domain/health/fix.ts";
import { carryOutSteps } from "#domain/health/fix-steps.ts";
import { runCheckOnce } from "#domain/health/report.ts";
import { confirmedSandbox } from "#domain/plugins/confirmation.ts";
import { changedFault, goneFault } from "#domain/plugins/guarded-run.ts";
import { noProgress } from "#domain/ports/packages.ts";
import { type PluginEnd, PluginNotRun } from "#domain/ports/plugins.ts";
import type { HostUpdates, SnapshotBackend } from "#domain/ports/snapshots.ts";
import { UnitProtected, type Units } from "#domain/ports/units.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { withRootHealth } from "./health.ts";
import { places, serviceUnit } from "./places.ts";

/** What root does its work with. */
export interface WorkParts {
  readonly config: Config;
  readonly exec: Exec;
  readonly log: Pick<Logger, "warn" | "error">;
}

type Work<A extends RootAsk> = (input: RootAskInput<A>, signal: AbortSignal) => Promise<RootAskOutput<A>>;
type WorkOf<Group extends string> = { readonly [A in RootAsk as A extends `${Group}.${string}` ? A : never]: Work<A> };
/** Everything of the closed list, each as it is done. */
export type RootWork = { readonly [A in RootAsk]: Work<A> };

const notFound = (what: string): DomainError => new DomainError("NOT_FOUND", `cannot find ${what}`);

type UseHealth<T> = Parameters<typeof withRootHealth<T>>[1];
/** Loaded on demand, as all else here: a task does one thing, and its start is what there is to wait for. */
const withHealth = async <T>({ config }: WorkParts, use: UseHealth<T>): Promise<T> =>
  (await import("./health.ts")).withRootHealth(config, use);

function checkWork(parts: WorkParts): WorkOf<"checks" | "monitoring"> {
  const runOnce = (ids: readonly string[], signal: AbortSignal) =>
    withHealth(parts, async ({ checks, plan: settings }) => {
      const outcomes: Record<string, Outcome & { details: Record<string, unknown> }> = {};
      for (const id of ids) {
        const outcome = await runCheckOnce({ checks, settings, clock: systemClock }, id, signal);
        if (outcome !== undefined) outcomes[id] = { ...outcome, details: { ...outcome.details } };
      }
      return outcomes;
    });
  return {
    "checks.run": async ({ check_ids: ids }, signal) => ({ outcomes: await runOnce(ids, signal) }),
    async "monitoring.run"({ check_id: id }, signal) {
      const isRoots = pluginSettings(parts.config.settings).some((plugin) => plugin.id === id && plugin.isRoots);
      const outcome = isRoots ? (await runOnce([id], signal))[id] : undefined;
      if (outcome === undefined) throw notFound(`the monitoring plugin ${id} among those that run as root`);
      return { outcome };
    },
  };
}

/** Of the fixes that are asked for here none installs security updates: that is an operation. */
const byOperation = (): Promise<never> => Promise.reject(new Error("security updates are installed in an operation"));

function fixWork(parts: WorkParts): WorkOf<"fix"> {
  /** What the check finds now, and what the fix would do about it. */
  const planned = <T>(
    { check_id: checkId, fix_id: fixId }: RootAskInput<"fix.plan">,
    signal: AbortSignal,
    use: (fix: Fix, plan: FixPlan) => T | Promise<T>,
  ): Promise<T> =>
    withHealth(parts, async ({ checks, fixes, plan: settings }) => {
      const fix = fixes({ security: { plan: byOperation, apply: byOperation } }).find(({ id }) => id === fixId);
      const isOfCheck = checks.some(({ id, fixes: ids = [] }) => id === checkId && ids.includes(fixId));
      if (fix === undefined || !isOfCheck) throw notFound(`the fix ${fixId} of ${checkId}`);
      const found = await runCheckOnce({ checks, settings, clock: systemClock }, checkId, signal);
      if (found === undefined) throw notFound(`the check ${checkId}`);
      const isUnhealthy = found.status === "warn" || found.status === "fail";
      const nothing = { steps: [], reason: `nothing to fix: ${found.message}` };
      return use(fix, isUnhealthy ? await fix.plan(found, signal) : nothing);
    });
  return {
    "fix.plan": (request, signal) =>
      planned(request, signal, (_, { steps, reason, units, packages, ...rest }) => {
        const { downloadBytes, freesBytes, requiresReboot } = rest;
        return {
          actions: steps.map(({ action }) => action),
          ...(reason !== undefined && { reason }),
          ...(units !== undefined && { units: [...units] }),
          ...(packages !== undefined && { packages: [...packages] }),
          ...(downloadBytes !== undefined && { downloadBytes }),
          ...(freesBytes !== undefined && { freesBytes }),
          ...(requiresReboot !== undefined && { requiresReboot }),
        };
      }),
    "fix.steps": (request, signal) =>
      planned(request, signal, async (fix, plan) => {
        if (plan.steps.length === 0) throw new Error(plan.reason ?? "there is nothing that it could do");
        // Only what was planned, and authorized, before: the host may have changed since.
        const further = plan.units?.find((unit) => !(request.units ?? []).includes(unit));
        if (further !== undefined) throw new Error(`${further} is to be touched by now as well (call it again)`);
        return { steps: await carryOutSteps(fix, plan, { signal }, systemClock) };
      }),
  };
}

function serviceWork({ config }: WorkParts): WorkOf<"services"> {
  const withUnits = async <T>(use: (units: Units) => Promise<T>): Promise<T> => {
    const { createHostUnits } = await import("#adapters/systemd/index.ts");
    const policy = createServicePolicy(config.settings.services);
    const systemd = createHostUnits({ clock: systemClock, policy, onStateChange: () => undefined });
    return use(systemd.units).finally(systemd.dispose);
  };
  return {
    "services.restart": ({ name }, signal) =>
      withUnits(async (units) => ({ jobResult: await units.restart(name, signal) })),
    "services.reset_failed": ({ name }) =>
      withUnits(async (units) => {
        const { refusal } = await units.read(name);
        if (refusal !== undefined) throw new UnitProtected(refusal);
        await units.resetFailed(name);
        return {};
      }),
  };
}

function packageWork({ config, exec }: WorkParts): WorkOf<"packages" | "snapshots"> {
  const updates = async (): Promise<HostUpdates> => {
    const { createHostPackages } = await import("#adapters/packages/index.ts");
    const { createHostUpdates } = await import("#app/updates.ts");
    return createHostUpdates({ ...config, exec }, await createHostPackages({ exec, clock: systemClock }));
  };
  const packageManager = async () => {
    const { manager } = await updates();
    if (manager === undefined) throw new Error("this host has no package manager that is supported");
    return manager;
  };
  const backend = async (name: string): Promise<SnapshotBackend> => {
    const found = (await updates()).backends.find((each) => each.name === name);
    if (found === undefined) throw notFound(`snapshots of ${name}`);
    return found;
  };
  return {
    async "packages.refresh"(_, signal) {
      await (await packageManager()).refresh(noProgress, signal);
      return {};
    },
    async "packages.restart_needs"(_, signal) {
      const { requiresReboot, units } = await (await packageManager()).restartNeeds(signal);
      return { requiresReboot, units: [...units] };
    },
    async "snapshots.backends"() {
      const { backends } = await updates();
      return { backends: backends.map(({ name, needsReboot }) => ({ name, needsReboot })) };
    },
    "snapshots.list": async ({ backend: name }, signal) => ({
      snapshots: [...(await (await backend(name)).list(signal))],
    }),
    async "snapshots.diff"({ backend: name, id }, signal) {
      const { packages, files } = await (await backend(name)).diff(id, signal);
      return { packages: [...packages], files: [...files] };
    },
    async "snapshots.verify"({ backend: name, id }, signal) {
      await (await backend(name)).verify(id, signal);
      return {};
    },
  };
}

/** A plugin as root finds it: in folders that nobody but root may change, and only as what was asked for. */
async function openPlugin({ config, exec, log }: WorkParts, { path, digest }: RootAskInput<"plugin.try_start">) {
  const { pluginFoldersOf } = await import("#app/plugin-folders.ts");
  const { createPluginSandbox, openConfirmedPlugins } = await import("#adapters/plugins/index.ts");
  const found = await pluginFoldersOf(config.settings).read(path);
  if (found === undefined) throw new PluginNotRun(goneFault);
  if ("fault" in found.loaded) throw new PluginNotRun(found.loaded.fault);
  if (found.loaded.digest !== digest) throw new PluginNotRun(changedFault);
  const { manifest } = found.loaded;
  const sandbox = createPluginSandbox({
    exec,
    hidden: [places.stateDir, places.tasksDir],
    partOf: serviceUnit,
    onNotEnded: ({ plugin, unit, error }) => log.warn({ plugin, unit, err: error }, "plugin not ended"),
  });
  return { manifest, sandbox: confirmedSandbox(sandbox, openConfirmedPlugins(places.confirmedDir)) };
}

function pluginWork(parts: WorkParts): WorkOf<"plugin"> {
  const run = async (
    { path, digest, args, stdin, timeoutMs }: RootAskInput<"plugin.run">,
    types: readonly PluginType[],
    signal: AbortSignal,
  ): Promise<PluginEnd> => {
    const { manifest, sandbox } = await openPlugin(parts, { path, digest });
    if (!types.includes(manifest.role.type)) throw new PluginNotRun(`it is a ${manifest.role.type}`);
    return sandbox.run({ manifest: { ...manifest, timeoutMs }, path, digest, args, stdin }, signal);
  };
  return {
    "plugin.run": (call, signal) => run(call, ["command"], signal),
    "plugin.call": (call, signal) => run({ ...call, args: [] }, ["check", "hook"], signal),
    async "plugin.try_start"(request, signal) {
      const { manifest, sandbox } = await openPlugin(parts, request);
      await sandbox.tryStart({ ...request, manifest, args: [], stdin: undefined }, signal);
      return {};
    },
  };
}

export const createRootWork = (parts: WorkParts): RootWork => ({
  ...checkWork(parts),
  ...fixWork(parts),
  ...serviceWork(parts),
  ...packageWork(parts),
  ...pluginWork(parts),
});
