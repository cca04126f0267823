import { createAccounts } from "#adapters/accounts/index.ts";
import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createHostNames, createTimeSettings } from "#adapters/host-settings/index.ts";
import { createReboots } from "#adapters/logind/index.ts";
import { createLogins } from "#adapters/logins/index.ts";
import { openSharedOperationStore } from "#adapters/operations/index.ts";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createPluginSandbox, openConfirmedPlugins } from "#adapters/plugins/index.ts";
import { createProcesses, readAllDeletedFiles, readAllIo, readOwners } from "#adapters/procfs/processes.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import { createHostUnits } from "#adapters/systemd/index.ts";
import { pluginSettings } from "#config/checks.ts";
import type { Config } from "#config/load.ts";
import { isUnhealthy } from "#contract/checks.ts";
import type { PluginType } from "#contract/plugins.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Check, Outcome, PreviousGrades } from "#domain/health/check.ts";
import { type CheckPlan, runCheckOnce } from "#domain/health/check-run.ts";
import { type Fix, type FixFound, type FixPlan, fixIdOf } from "#domain/health/fix.ts";
import { carryOutSteps } from "#domain/health/fix-result.ts";
import type { FixPorts } from "#domain/health/fixes-registry.ts";
import { confirmedSandbox } from "#domain/plugins/confirmation.ts";
import { changedFault, goneFault } from "#domain/plugins/guarded-run.ts";
import { noProgress } from "#domain/ports/packages.ts";
import { type PluginDirectories, type PluginEnd, PluginNotRun } from "#domain/ports/plugins.ts";
import { ProcessGone } from "#domain/ports/processes.ts";
import type { HostUpdates } from "#domain/ports/snapshots.ts";
import { refusalOf, type UnitFileVerb, UnitProtected, type Units, type UnitVerb } from "#domain/ports/units.ts";
import { requireSignallable } from "#domain/system/process-signal.ts";
import { furthestRebootMs } from "#domain/system/reboot.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import { errorMessage } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";
import type { Logger } from "#telemetry/logger.ts";
import { requireAlone } from "./operation.ts";
import { places, serviceUnit } from "./places.ts";
import type { RootTask, RootTaskInput } from "./tasks.ts";

/** What the work of root's side is done on, put together by the program when a task needs it. */
export interface RootHost {
  /** Undefined without a package manager that is supported. */
  readonly updates: () => HostUpdates | undefined;
  readonly pluginDirectories: () => PluginDirectories;
  readonly withChecks: <T>(use: (checks: RootChecks) => Promise<T>) => Promise<T>;
}

export interface RootChecks {
  readonly checks: readonly Check[];
  readonly fixes: (parts: Pick<FixPorts, "security">) => readonly Fix[];
  readonly plan: CheckPlan;
}

export interface TaskContext {
  readonly config: Config;
  readonly host: RootHost;
  readonly exec: Exec;
  readonly log: Pick<Logger, "warn" | "error">;
  readonly signal: AbortSignal;
  /** Sends what a fix has found and planned; resolves when the service has authorized it. */
  readonly announce: (found: FixFound) => Promise<void>;
}

type WorkOf<Name extends string> = {
  readonly [T in RootTask as T extends Name | `${Name}.${string}` ? T : never]: (
    input: RootTaskInput<T>,
    context: TaskContext,
  ) => Promise<unknown>;
};

const notFound = (what: string): DomainError => new DomainError("NOT_FOUND", `cannot find ${what}`);

const runOnce = (
  { checks, plan }: RootChecks,
  id: string,
  signal: AbortSignal,
  previous?: PreviousGrades,
): Promise<Outcome | undefined> => runCheckOnce({ checks, settings: plan, clock: systemClock }, id, signal, previous);

/** A plan that cannot be made has no steps, and says nothing of whether the fix can do anything. */
async function planFix(fix: Fix, found: Outcome, signal: AbortSignal): Promise<{ plan: FixPlan; canFix: boolean }> {
  try {
    const plan = await fix.plan(found, signal);
    return { plan, canFix: fix.mayFindNothing !== true || plan.steps.length > 0 };
  } catch (error) {
    return { plan: { steps: [], reason: errorMessage(error) }, canFix: true };
  }
}

/** Runs a check, and plans the fix for what it finds, where root has it. */
async function inspect(host: RootChecks, id: string, signal: AbortSignal) {
  const check = host.checks.find((each) => each.id === id);
  const found = await runOnce(host, id, signal);
  if (check?.fixes === undefined || found === undefined) throw notFound(`a check ${id} that has a fix`);
  const fixId = isUnhealthy(found) ? fixIdOf(check, found) : undefined;
  const fix = host.fixes({}).find((each) => each.id === fixId);
  if (fix === undefined) return { found };
  const { plan, canFix } = await planFix(fix, found, signal);
  const judged: Outcome = { ...found, canFix };
  return { found: judged, fix, plan };
}

const checkWork = {
  "checks.run": ({ check_ids: ids, previous = {} }, { config, host, signal }) =>
    host.withChecks(async (checks) => {
      const outcomes: Record<string, Outcome> = {};
      // A plugin in the place of a check is not root's because the check is.
      const plugins = pluginSettings(config.settings).map(({ id }) => id);
      for (const id of ids.filter((each) => !plugins.includes(each))) {
        const outcome = await runOnce(checks, id, signal, previous[id]);
        if (outcome !== undefined) outcomes[id] = outcome;
      }
      return { outcomes };
    }),
  async "monitoring.run"({ check_id: id }, { config, host, signal }) {
    const isRoots = pluginSettings(config.settings).some((plugin) => plugin.id === id && plugin.isRoots);
    const outcome = isRoots ? await host.withChecks((checks) => runOnce(checks, id, signal)) : undefined;
    if (outcome === undefined) throw notFound(`the monitoring plugin ${id} among those that run as root`);
    return { outcome };
  },
  fix: ({ check_id: id }, { host, signal, announce }) =>
    host.withChecks(async (checks) => {
      const { found, fix, plan } = await inspect(checks, id, signal);
      if (plan === undefined) {
        await announce({ found });
        return { steps: [], after: found };
      }
      const { steps, ...rest } = plan;
      await announce({ found, plan: { ...rest, steps: steps.map(({ action }) => ({ action })) } });
      if (steps.length === 0) throw new Error(plan.reason ?? "there is nothing to do");
      const reports = await carryOutSteps(fix, plan, { signal }, systemClock);
      const { found: after } = await inspect(checks, id, signal);
      return { steps: reports, after };
    }),
} satisfies WorkOf<"checks" | "monitoring" | "fix">;

async function withUnits<T>({ settings }: Config, use: (units: Units) => Promise<T>): Promise<T> {
  const policy = createServicePolicy(settings.services);
  const systemd = createHostUnits({ clock: systemClock, policy, onStateChange: () => undefined });
  return use(systemd.units).finally(systemd.dispose);
}

type ServiceRequest = RootTaskInput<"services.restart">;

const changeService =
  (verb: UnitVerb) =>
  ({ name, confirm: isConfirmed = false }: ServiceRequest, { config, signal }: TaskContext): Promise<string> =>
    withUnits(config, (units) => units[verb](name, signal, { isConfirmed }));

const changeServiceFile =
  (verb: UnitFileVerb) =>
  ({ name, confirm: isConfirmed = false }: ServiceRequest, { config }: TaskContext) =>
    withUnits(config, (units) => units[verb](name, { isConfirmed }));

const serviceWork = {
  "services.restart": changeService("restart"),
  "services.start": changeService("start"),
  "services.stop": changeService("stop"),
  "services.reload": changeService("reload"),
  "services.enable": changeServiceFile("enable"),
  "services.disable": changeServiceFile("disable"),
  "services.mask": changeServiceFile("mask"),
  "services.unmask": changeServiceFile("unmask"),
  "services.reset_failed": ({ name, confirm: isConfirmed = false }, { config }) =>
    withUnits(config, async (units) => {
      const refusal = refusalOf(await units.read(name), { isConfirmed });
      if (refusal !== undefined) throw new UnitProtected(refusal);
      await units.resetFailed(name);
    }),
} satisfies WorkOf<"services">;

const processWork = {
  "processes.signal": ({ pid, start_ticks: startTicks, signal }, { config }) =>
    withUnits(config, async (units) => {
      const processes = createProcesses({ clock: systemClock });
      const found = await processes.read(pid);
      if (found?.startTicks !== startTicks) throw new ProcessGone(`process ${pid} has ended`);
      const own = { pids: [process.pid], unit: serviceUnit };
      await requireSignallable(found, { units, own, doing: `send SIG${signal} to process ${pid}` });
      await processes.signal(found, signal);
    }),
  /** By the number of the user; without those of root. */
  "processes.owners": async () =>
    Object.fromEntries(
      [...(await readOwners())].map(([uid, ids]) => [
        uid,
        ids.map(({ pid, startTicks }) => [pid, startTicks] as const),
      ]),
    ),
  /** Without threads of the kernel. */
  "processes.io": async () =>
    [...(await readAllIo())].map(
      ([{ pid, startTicks }, { readBytes, writtenBytes }]) => [pid, startTicks, readBytes, writtenBytes] as const,
    ),
  /** Of processes that have any. */
  "processes.deleted_files": async () =>
    [...(await readAllDeletedFiles())].map(([{ pid, startTicks }, files]) => [pid, startTicks, files] as const),
} satisfies WorkOf<"processes">;

function updatesOf({ host }: TaskContext): HostUpdates {
  const found = host.updates();
  if (found === undefined) throw new Error("this host has no package manager that is supported");
  return found;
}

const packageWork = {
  "packages.refresh": (_, context) => updatesOf(context).manager.lists.refresh(noProgress, context.signal),
  "packages.hold": (holds, context) => updatesOf(context).manager.holds.set(holds, context.signal),
  "packages.simulate": (request, context) =>
    updatesOf(context).manager.plan({ names: undefined, ...request }, context.signal),
  "packages.plan_change": (request, context) => updatesOf(context).manager.plan(request, context.signal),
  "packages.release": async (_, context) =>
    defined({ release: await updatesOf(context).manager.lists.release(context.signal) }),
  "packages.restart_needs": (_, context) => updatesOf(context).manager.restartNeeds(context.signal),
  "stale.find": (_, { signal }) => createStaleCode().find(signal),
  "snapshots.list": (_, context) => updatesOf(context).backend.list(context.signal),
  "snapshots.diff": ({ id }, context) => updatesOf(context).backend.diff(id, context.signal),
  "snapshots.compare_file": async ({ id, path }, context) =>
    defined({ comparison: await updatesOf(context).backend.compareFile(id, path, context.signal) }),
  "snapshots.lacking": ({ wanted }, context) => updatesOf(context).backend.lacking(wanted, context.signal),
  "snapshots.verify": ({ id }, context) => updatesOf(context).backend.verify(id, context.signal),
} satisfies WorkOf<"packages" | "snapshots" | "stale">;

const hostWork = {
  "reboot.state": (_, { exec, signal }) => createReboots({ exec }).state(signal),
  async "reboot.schedule"({ at, ...options }, { exec, signal }) {
    const now = systemClock.now();
    if (at < now - 60_000 || at > now + furthestRebootMs) throw new Error("the time is in the past, or too far ahead");
    requireAlone(openSharedOperationStore({ stateDir: places.tasksDir }), "a reboot");
    await createReboots({ exec }).schedule(at, options, signal);
  },
  async "reboot.cancel"(_, { exec, signal }) {
    const reboots = createReboots({ exec });
    if ((await reboots.state(signal)).kind === "reboot") await reboots.cancel(signal);
  },
  "host.set_time": (change, { exec, signal }) => createTimeSettings({ exec }).set(change, signal),
  "host.set_hostname": (change, { exec, signal }) => createHostNames({ exec }).set(change, signal),
  "users.list": (_, { exec, signal }) =>
    createAccounts({ exec, ssh: createSshServer({ exec }), look: lookApart }).list(signal),
  "users.sessions": (_, { exec, signal }) => createLogins({ exec }).sessions(signal),
} satisfies WorkOf<"reboot" | "host" | "users">;

/** A plugin as root finds it: in directories that nobody but root may change, and only as what was asked for. */
async function openPlugin({ host, exec, log }: TaskContext, { path, digest }: RootTaskInput<"plugin.try_start">) {
  const found = await host.pluginDirectories().read(path);
  if (found === undefined) throw new PluginNotRun(goneFault);
  if ("fault" in found.loaded) throw new PluginNotRun(found.loaded.fault);
  if (found.loaded.digest !== digest) throw new PluginNotRun(changedFault);
  const { manifest } = found.loaded;
  const sandbox = createPluginSandbox({
    exec,
    hidden: [places.stateDir, places.tasksDir],
    partOf: serviceUnit,
    onNotEnded: ({ plugin, unit, error }) => log.warn({ plugin, unit, err: error }, "cannot stop a plugin"),
  });
  return { manifest, sandbox: confirmedSandbox(sandbox, openConfirmedPlugins(places.confirmedDir)) };
}

async function runPlugin(
  { path, digest, args, stdin, timeoutMs }: RootTaskInput<"plugin.run">,
  types: readonly PluginType[],
  context: TaskContext,
): Promise<PluginEnd> {
  const { manifest, sandbox } = await openPlugin(context, { path, digest });
  if (!types.includes(manifest.role.type)) throw new PluginNotRun(`it is a ${manifest.role.type}`);
  return sandbox.run({ manifest: { ...manifest, timeoutMs }, path, digest, args, stdin }, context.signal);
}

const pluginWork = {
  "plugin.run": (call, context) => runPlugin(call, ["command"], context),
  "plugin.call": (call, context) => runPlugin({ ...call, args: [] }, ["check", "hook"], context),
  async "plugin.try_start"(request, context) {
    const { manifest, sandbox } = await openPlugin(context, request);
    await sandbox.tryStart({ ...request, manifest, args: [], stdin: undefined }, context.signal);
  },
} satisfies WorkOf<"plugin">;

export type RootWork = {
  readonly [T in RootTask]: (input: RootTaskInput<T>, context: TaskContext) => Promise<unknown>;
};

export const rootWork = {
  ...checkWork,
  ...serviceWork,
  ...processWork,
  ...packageWork,
  ...hostWork,
  ...pluginWork,
} satisfies RootWork;

export type RootTaskOutput<T extends RootTask> = Awaited<ReturnType<(typeof rootWork)[T]>>;
