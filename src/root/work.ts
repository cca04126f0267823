import { createAccounts } from "#adapters/accounts/index.ts";
import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createHostNames } from "#adapters/hostname/index.ts";
import { createReboots } from "#adapters/logind/index.ts";
import { createLogins } from "#adapters/logins/index.ts";
import { openSharedOperationStore } from "#adapters/operations/index.ts";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createPluginSandbox, openConfirmedPlugins } from "#adapters/plugins/index.ts";
import { createProcesses, readAllDeletedFiles, readAllIo, readOwners } from "#adapters/procfs/processes.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import { createHostUnits } from "#adapters/systemd/index.ts";
import { createTimeSettings } from "#adapters/timedate/settings.ts";
import { openPackageManager } from "#app/host.ts";
import { pluginFoldersOf } from "#app/plugins.ts";
import { createHostUpdates } from "#app/updates.ts";
import { pluginSettings } from "#config/checks.ts";
import type { Config } from "#config/load.ts";
import { isUnhealthy } from "#contract/checks.ts";
import type { PluginType } from "#contract/plugins.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Check, Outcome, PreviousGrades } from "#domain/health/check.ts";
import { type Fix, type FixPlan, fixIdOf } from "#domain/health/fix.ts";
import { carryOutSteps } from "#domain/health/fix-result.ts";
import { runCheckOnce } from "#domain/health/report.ts";
import { confirmedSandbox } from "#domain/plugins/confirmation.ts";
import { changedFault, goneFault } from "#domain/plugins/guarded-run.ts";
import { noProgress } from "#domain/ports/packages.ts";
import { type PluginEnd, PluginNotRun } from "#domain/ports/plugins.ts";
import { ProcessGone } from "#domain/ports/processes.ts";
import type { HostUpdates } from "#domain/ports/snapshots.ts";
import { refusalOf, type UnitFileVerb, UnitProtected, type Units, type UnitVerb } from "#domain/ports/units.ts";
import { requireSignallable } from "#domain/system/process-signal.ts";
import { furthestRebootMs } from "#domain/system/reboot.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import { errorMessage } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";
import type { Logger } from "#telemetry/logger.ts";
import { withRootHealth } from "./health.ts";
import { requireAlone } from "./operation.ts";
import { places, serviceUnit } from "./places.ts";
import type { FixFound, RootTask, RootTaskInput, RootTaskOutput } from "./tasks.ts";
import { fixesOfService } from "./through-root.ts";

export interface WorkParts {
  readonly config: Config;
  readonly exec: Exec;
  readonly log: Pick<Logger, "warn" | "error">;
}

export interface DuringTask {
  readonly signal: AbortSignal;
  readonly announce: (found: FixFound) => Promise<void>;
}

type Work<T extends RootTask> = (input: RootTaskInput<T>, during: DuringTask) => Promise<RootTaskOutput<T>>;
type WorkOf<Name extends string> = {
  readonly [T in RootTask as T extends Name | `${Name}.${string}` ? T : never]: Work<T>;
};
export type RootWork = { readonly [T in RootTask]: Work<T> };

const notFound = (what: string): DomainError => new DomainError("NOT_FOUND", `cannot find ${what}`);

type UseHealth<T> = Parameters<typeof withRootHealth<T>>[1];

/** Of the fixes that are requested here none installs security updates: that is an operation. */
const byOperation = (): Promise<never> => Promise.reject(new Error("security updates are installed in an operation"));

function healthWork(parts: WorkParts): WorkOf<"checks" | "monitoring" | "fix"> {
  type Health = Parameters<UseHealth<unknown>>[0];
  const fixFor = ({ fixes }: Health, check: Check, found: Outcome): Fix | undefined => {
    const fixId = isUnhealthy(found) ? fixIdOf(check, found) : undefined;
    if (fixId === undefined || fixesOfService.includes(fixId)) return undefined;
    return fixes({ security: { plan: byOperation, apply: byOperation } }).find(({ id }) => id === fixId);
  };
  const runOnce = (
    health: Health,
    id: string,
    signal: AbortSignal,
    previous?: PreviousGrades,
  ): Promise<Outcome | undefined> =>
    runCheckOnce({ checks: health.checks, settings: health.plan, clock: systemClock }, id, signal, previous);
  /** A plan that cannot be made has no steps, and says nothing of whether the fix can do anything. */
  const planFor = async (
    fix: Fix,
    found: Outcome,
    signal: AbortSignal,
  ): Promise<{ plan: FixPlan; canFix: boolean }> => {
    try {
      const plan = await fix.plan(found, signal);
      return { plan, canFix: fix.mayFindNothing !== true || plan.steps.length > 0 };
    } catch (error) {
      return { plan: { steps: [], reason: errorMessage(error) }, canFix: true };
    }
  };
  const inspect = async (health: Health, id: string, signal: AbortSignal) => {
    const check = health.checks.find((each) => each.id === id);
    const found = await runOnce(health, id, signal);
    if (check?.fixes === undefined || found === undefined) throw notFound(`a check ${id} that has a fix`);
    const fix = fixFor(health, check, found);
    if (fix === undefined) return { found };
    const { plan, canFix } = await planFor(fix, found, signal);
    return { found: { ...found, canFix }, fix, plan };
  };

  return {
    "checks.run": ({ check_ids: ids, previous = {} }, { signal }) =>
      withRootHealth(parts.config, async (health) => {
        const outcomes: Record<string, Outcome> = {};
        // A plugin in the place of a check is not root's because the check is.
        const plugins = pluginSettings(parts.config.settings).map(({ id }) => id);
        for (const id of ids.filter((each) => !plugins.includes(each))) {
          const outcome = await runOnce(health, id, signal, previous[id]);
          if (outcome !== undefined) outcomes[id] = outcome;
        }
        return { outcomes };
      }),
    async "monitoring.run"({ check_id: id }, { signal }) {
      const isRoots = pluginSettings(parts.config.settings).some((plugin) => plugin.id === id && plugin.isRoots);
      const outcome = isRoots ? await withRootHealth(parts.config, (health) => runOnce(health, id, signal)) : undefined;
      if (outcome === undefined) throw notFound(`the monitoring plugin ${id} among those that run as root`);
      return { outcome };
    },
    fix: ({ check_id: id }, { signal, announce }) =>
      withRootHealth(parts.config, async (health) => {
        const { found, fix, plan } = await inspect(health, id, signal);
        if (plan === undefined) {
          await announce({ found });
          return { steps: [], after: found };
        }
        const { steps, ...rest } = plan;
        await announce({ found, plan: { ...rest, steps: steps.map(({ action }) => ({ action })) } });
        if (steps.length === 0) throw new Error(plan.reason ?? "there is nothing to do");
        const reports = await carryOutSteps(fix, plan, { signal }, systemClock);
        const { found: after } = await inspect(health, id, signal);
        return { steps: reports, after };
      }),
  };
}

async function withUnits<T>({ settings }: Config, use: (units: Units) => Promise<T>): Promise<T> {
  const policy = createServicePolicy(settings.services);
  const systemd = createHostUnits({ clock: systemClock, policy, onStateChange: () => undefined });
  return use(systemd.units).finally(systemd.dispose);
}

function serviceWork({ config }: WorkParts): WorkOf<"services"> {
  const change =
    (verb: UnitVerb): WorkOf<"services">["services.restart"] =>
    ({ name, confirm: isConfirmed = false }, { signal }) =>
      withUnits(config, async (units) => ({ jobResult: await units[verb](name, signal, { isConfirmed }) }));
  const changeFile =
    (verb: UnitFileVerb): WorkOf<"services">["services.enable"] =>
    ({ name, confirm: isConfirmed = false }) =>
      withUnits(config, async (units) => ({ changes: await units[verb](name, { isConfirmed }) }));
  return {
    "services.restart": change("restart"),
    "services.start": change("start"),
    "services.stop": change("stop"),
    "services.reload": change("reload"),
    "services.enable": changeFile("enable"),
    "services.disable": changeFile("disable"),
    "services.mask": changeFile("mask"),
    "services.unmask": changeFile("unmask"),
    "services.reset_failed": ({ name, confirm: isConfirmed = false }) =>
      withUnits(config, async (units) => {
        const refusal = refusalOf(await units.read(name), { isConfirmed });
        if (refusal !== undefined) throw new UnitProtected(refusal);
        await units.resetFailed(name);
        return {};
      }),
  };
}

function processWork({ config }: WorkParts): WorkOf<"processes"> {
  return {
    "processes.signal": ({ pid, start_ticks: startTicks, signal }) =>
      withUnits(config, async (units) => {
        const processes = createProcesses({ clock: systemClock });
        const found = await processes.read(pid);
        if (found?.startTicks !== startTicks) throw new ProcessGone(`process ${pid} has ended`);
        const own = { pids: [process.pid], unit: serviceUnit };
        await requireSignallable(found, { units, own, doing: `send SIG${signal} to process ${pid}` });
        await processes.signal(found, signal);
        return {};
      }),
    async "processes.owners"() {
      const owners = await readOwners();
      return {
        owners: Object.fromEntries(
          [...owners].map(([uid, ids]) => [uid, ids.map(({ pid, startTicks }) => [pid, startTicks] as const)]),
        ),
      };
    },
    async "processes.io"() {
      const found = await readAllIo();
      return {
        io: [...found].map(
          ([{ pid, startTicks }, { readBytes, writtenBytes }]) => [pid, startTicks, readBytes, writtenBytes] as const,
        ),
      };
    },
    async "processes.deleted_files"() {
      const found = await readAllDeletedFiles();
      return { files: [...found].map(([{ pid, startTicks }, files]) => [pid, startTicks, files] as const) };
    },
  };
}

function rebootWork({ exec }: WorkParts): WorkOf<"reboot"> {
  const reboots = createReboots({ exec });
  return {
    "reboot.state": (_, { signal }) => reboots.state(signal),
    async "reboot.schedule"({ at, ...options }, { signal }) {
      const now = systemClock.now();
      if (at < now - 60_000 || at > now + furthestRebootMs)
        throw new Error("the time is in the past, or too far ahead");
      requireAlone(openSharedOperationStore({ stateDir: places.tasksDir }), "a reboot");
      await reboots.schedule(at, options, signal);
      return {};
    },
    async "reboot.cancel"(_, { signal }) {
      if ((await reboots.state(signal)).kind === "reboot") await reboots.cancel(signal);
      return {};
    },
  };
}

const hostSettingsWork = (parts: WorkParts): WorkOf<"host"> => ({
  async "host.set_time"(change, { signal }) {
    await createTimeSettings(parts).set(change, signal);
    return {};
  },
  async "host.set_hostname"(change, { signal }) {
    await createHostNames(parts).set(change, signal);
    return {};
  },
});

const userWork = (parts: WorkParts): WorkOf<"users"> => ({
  "users.list": (_, { signal }) =>
    createAccounts({ ...parts, ssh: createSshServer(parts), look: lookApart }).list(signal),
  "users.sessions": async (_, { signal }) => ({ sessions: await createLogins(parts).sessions(signal) }),
});

function packageWork({ config, exec }: WorkParts): WorkOf<"packages" | "snapshots" | "stale"> {
  const updates = (): HostUpdates => {
    const found = createHostUpdates({ ...config, exec }, openPackageManager({ exec, stateDir: config.stateDir }));
    if (found === undefined) throw new Error("this host has no package manager that is supported");
    return found;
  };
  return {
    async "packages.refresh"(_, { signal }) {
      await updates().manager.lists.refresh(noProgress, signal);
      return {};
    },
    "packages.hold": (holds, { signal }) => updates().manager.holds.set(holds, signal),
    "packages.simulate": ({ request: { names, ...request } }, { signal }) =>
      updates().manager.plan({ ...request, names }, signal),
    "packages.plan_change": ({ request }, { signal }) => updates().manager.plan(request, signal),
    "packages.release": async (_, { signal }) => defined({ release: await updates().manager.lists.release(signal) }),
    "packages.restart_needs": (_, { signal }) => updates().manager.restartNeeds(signal),
    "stale.find": (_, { signal }) => createStaleCode().find(signal),
    "snapshots.list": async (_, { signal }) => ({ snapshots: await updates().backend.list(signal) }),
    "snapshots.diff": ({ id }, { signal }) => updates().backend.diff(id, signal),
    "snapshots.compare_file": async ({ id, path }, { signal }) =>
      defined({ comparison: await updates().backend.compareFile(id, path, signal) }),
    "snapshots.lacking": async ({ wanted }, { signal }) => ({ lacks: await updates().backend.lacking(wanted, signal) }),
    async "snapshots.verify"({ id }, { signal }) {
      await updates().backend.verify(id, signal);
      return {};
    },
  };
}

/** A plugin as root finds it: in folders that nobody but root may change, and only as what was asked for. */
async function openPlugin({ config, exec, log }: WorkParts, { path, digest }: RootTaskInput<"plugin.try_start">) {
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
    { path, digest, args, stdin, timeoutMs }: RootTaskInput<"plugin.run">,
    types: readonly PluginType[],
    signal: AbortSignal,
  ): Promise<PluginEnd> => {
    const { manifest, sandbox } = await openPlugin(parts, { path, digest });
    if (!types.includes(manifest.role.type)) throw new PluginNotRun(`it is a ${manifest.role.type}`);
    return sandbox.run({ manifest: { ...manifest, timeoutMs }, path, digest, args, stdin }, signal);
  };
  return {
    "plugin.run": (call, { signal }) => run(call, ["command"], signal),
    "plugin.call": (call, { signal }) => run({ ...call, args: [] }, ["check", "hook"], signal),
    async "plugin.try_start"(request, { signal }) {
      const { manifest, sandbox } = await openPlugin(parts, request);
      await sandbox.tryStart({ ...request, manifest, args: [], stdin: undefined }, signal);
      return {};
    },
  };
}

export const createRootWork = (parts: WorkParts): RootWork => ({
  ...healthWork(parts),
  ...serviceWork(parts),
  ...packageWork(parts),
  ...processWork(parts),
  ...rebootWork(parts),
  ...hostSettingsWork(parts),
  ...userWork(parts),
  ...pluginWork(parts),
});
