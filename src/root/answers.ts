import { Ajv } from "ajv";
import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { pluginSettings } from "#config/checks.ts";
import type { Config } from "#config/load.ts";
import type { PluginType } from "#contract/plugins.ts";
import {
  isRootAsk,
  type RootAsk,
  type RootAskAnswer,
  type RootAskInput,
  type RootAskOutput,
  RootAskRequest,
  rootAsks,
  rootAskTimeoutMs,
} from "#contract/root-tasks.ts";
import { ownSchemas } from "#contract/schema.ts";
import { DomainError } from "#domain/common/error.ts";
import type { Outcome } from "#domain/health/check.ts";
import type { Fix } from "#domain/health/fix.ts";
import { carryOutSteps } from "#domain/health/fix-steps.ts";
import { runCheckOnce } from "#domain/health/report.ts";
import { confirmedSandbox, PluginUnconfirmed } from "#domain/plugins/confirmation.ts";
import { changedFault, goneFault } from "#domain/plugins/guarded-run.ts";
import { type PluginEnd, PluginNotRun } from "#domain/plugins/ports.ts";
import { UnitProtected, type Units } from "#domain/system/ports.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import type { PackageManager, SnapshotBackend } from "#domain/updates/ports.ts";
import { reasonOf } from "#kernel/error-reason.ts";
import type { Logger } from "#telemetry/logger.ts";
import { toWire } from "./errors.ts";
import type { withRootHealth } from "./health.ts";
import { places, serviceUnit } from "./places.ts";
import type { RecordRoot } from "./record.ts";

type Answers = { readonly [A in RootAsk]: (input: RootAskInput<A>, signal: AbortSignal) => Promise<RootAskOutput<A>> };

interface Parts {
  readonly config: Config;
  readonly exec: Exec;
  readonly log: Pick<Logger, "warn" | "error">;
}

/** Nobody hears how far it is: who asked waits for the end. */
const unheard = { step: () => undefined, line: () => undefined };
/** Of the fixes that are asked for here none installs security updates: that is an operation. */
const byOperation = (): Promise<never> => Promise.reject(new Error("security updates are installed in an operation"));
const notFound = (what: string): DomainError => new DomainError("NOT_FOUND", `cannot find ${what}`);

/** Everything of the closed list, each as it is done. */
function answersOf(parts: Parts): Answers {
  const { config, exec, log } = parts;

  // Each is loaded on demand: a task does one thing, and its start is what there is to wait for.
  const withHealth = async <T>(work: Parameters<typeof withRootHealth<T>>[1]): Promise<T> =>
    (await import("./health.ts")).withRootHealth(config, work);
  const withUnits = async <T>(work: (units: Units) => Promise<T>): Promise<T> => {
    const { createHostUnits } = await import("#adapters/systemd/index.ts");
    const policy = createServicePolicy(config.settings.services);
    const systemd = createHostUnits({ clock: systemClock, policy, onStateChange: () => undefined });
    return work(systemd.units).finally(systemd.dispose);
  };
  const updates = async () => {
    const { createHostPackages } = await import("#adapters/packages/index.ts");
    const { createHostUpdates } = await import("#app/updates.ts");
    return createHostUpdates({ ...config, exec }, await createHostPackages({ exec, clock: systemClock }));
  };
  const manager = async (): Promise<PackageManager> => {
    const found = (await updates()).manager;
    if (found === undefined) throw new Error("this host has no package manager that is supported");
    return found;
  };
  const backend = async (name: string): Promise<SnapshotBackend> => {
    const found = (await updates()).backends.find((each) => each.name === name);
    if (found === undefined) throw notFound(`snapshots of ${name}`);
    return found;
  };

  /** What the check finds now, and what the fix would do about it. */
  const planned = <T>(
    { check_id: checkId, fix_id: fixId }: RootAskInput<"fix.plan">,
    signal: AbortSignal,
    use: (fix: Fix, plan: Awaited<ReturnType<Fix["plan"]>>) => Promise<T>,
  ): Promise<T> =>
    withHealth(async ({ checks, fixes, plan: settings }) => {
      const fix = fixes({ security: { plan: byOperation, apply: byOperation } }).find(({ id }) => id === fixId);
      const isOfCheck = checks.some(({ id, fixes: ids = [] }) => id === checkId && ids.includes(fixId));
      if (fix === undefined || !isOfCheck) throw notFound(`the fix ${fixId} of ${checkId}`);
      const found = await runCheckOnce({ checks, settings, clock: systemClock }, checkId, signal);
      if (found === undefined) throw notFound(`the check ${checkId}`);
      const isIll = found.status === "warn" || found.status === "fail";
      return use(
        fix,
        isIll ? await fix.plan(found, signal) : { steps: [], reason: `nothing to fix: ${found.message}` },
      );
    });

  /** A plugin as root finds it: in folders that nobody but root may change, and only as what was asked for. */
  const openPlugin = async ({ path, digest }: RootAskInput<"plugin.try_start">) => {
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
  };
  const runPlugin = async (
    { path, digest, args, stdin, timeoutMs }: RootAskInput<"plugin.run">,
    types: readonly PluginType[],
    signal: AbortSignal,
  ): Promise<PluginEnd> => {
    const { manifest, sandbox } = await openPlugin({ path, digest });
    if (!types.includes(manifest.role.type)) throw new PluginNotRun(`it is a ${manifest.role.type}`);
    return sandbox.run({ manifest: { ...manifest, timeoutMs }, path, digest, args, stdin }, signal);
  };

  return {
    "checks.run": ({ check_ids: ids }, signal) =>
      withHealth(async ({ checks, plan: settings }) => {
        const outcomes: Record<string, Outcome & { details: Record<string, unknown> }> = {};
        for (const id of ids) {
          const outcome = await runCheckOnce({ checks, settings, clock: systemClock }, id, signal);
          if (outcome !== undefined) outcomes[id] = { ...outcome, details: { ...outcome.details } };
        }
        return { outcomes };
      }),
    "monitoring.run": ({ check_id: checkId }, signal) =>
      withHealth(async ({ checks, plan: settings }) => {
        const isRoots = pluginSettings(config.settings).some((plugin) => plugin.id === checkId && plugin.isRoots);
        const outcome = isRoots
          ? await runCheckOnce({ checks, settings, clock: systemClock }, checkId, signal)
          : undefined;
        if (outcome === undefined) throw notFound(`the monitoring plugin ${checkId} among those that run as root`);
        return { outcome: { ...outcome, details: { ...outcome.details } } };
      }),
    "fix.plan": (request, signal) =>
      planned(request, signal, (_, { steps, reason, units, packages, ...rest }) => {
        const { downloadBytes, freesBytes, requiresReboot } = rest;
        return Promise.resolve({
          actions: steps.map(({ action }) => action),
          ...(reason !== undefined && { reason }),
          ...(units !== undefined && { units: [...units] }),
          ...(packages !== undefined && { packages: [...packages] }),
          ...(downloadBytes !== undefined && { downloadBytes }),
          ...(freesBytes !== undefined && { freesBytes }),
          ...(requiresReboot !== undefined && { requiresReboot }),
        });
      }),
    "fix.steps": (request, signal) =>
      planned(request, signal, async (fix, plan) => {
        if (plan.steps.length === 0) throw new Error(plan.reason ?? "there is nothing that it could do");
        // Only what was planned, and authorized, before: the host may have changed since.
        const further = plan.units?.find((unit) => !(request.units ?? []).includes(unit));
        if (further !== undefined) throw new Error(`${further} is to be touched by now as well (call it again)`);
        return { steps: await carryOutSteps(fix, plan, { signal }, systemClock) };
      }),
    "services.restart": ({ name }, signal) =>
      withUnits(async (units) => ({ jobResult: await units.restart(name, signal) })),
    "services.reset_failed": ({ name }) =>
      withUnits(async (units) => {
        const { refusal } = await units.read(name);
        if (refusal !== undefined) throw new UnitProtected(refusal);
        await units.resetFailed(name);
        return {};
      }),
    async "packages.refresh"(_, signal) {
      await (await manager()).refresh(unheard, signal);
      return {};
    },
    async "packages.restart_needs"(_, signal) {
      const { requiresReboot, units } = await (await manager()).restartNeeds(signal);
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
    "plugin.run": (call, signal) => runPlugin(call, ["command"], signal),
    "plugin.call": (call, signal) => runPlugin({ ...call, args: [] }, ["check", "hook"], signal),
    async "plugin.try_start"(request, signal) {
      const { manifest, sandbox } = await openPlugin(request);
      await sandbox.tryStart({ ...request, manifest, args: [], stdin: undefined }, signal);
      return {};
    },
  };
}

const ajv = new Ajv(ownSchemas);
const isRequest = ajv.compile<{ ask: string; input: unknown }>(RootAskRequest);

function refuse(why: string): never {
  throw new DomainError("VALIDATION_ERROR", `cannot do what was asked: ${why}`);
}

function parsed(text: string): { readonly ask: string; readonly input: unknown } {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch {
    return refuse("it is not JSON");
  }
  return isRequest(request) ? request : refuse("it is not of the form of an ask");
}

type Work = (signal: AbortSignal) => Promise<unknown>;

/** Does what is asked, if it is on the list, and gives the answer as it is written down. Never throws. */
export function createRootAnswers(
  parts: Parts & { readonly record: RecordRoot },
): (id: string, text: string, cancelled: AbortSignal) => Promise<RootAskAnswer> {
  const { record } = parts;
  const answers = answersOf(parts);
  const workFor = <A extends RootAsk>(ask: A, input: unknown): Work => {
    const isInput = ajv.compile<RootAskInput<A>>(rootAsks[ask].input);
    if (!isInput(input))
      throw new DomainError("VALIDATION_ERROR", `cannot do ${ask}: ${ajv.errorsText(isInput.errors)}`);
    return (signal) => answers[ask](input, signal);
  };

  /** What is asked, checked. Whatever is refused here the service itself would not ask for. */
  const admitted = (id: string, text: string) => {
    let request = "";
    try {
      const { ask, input } = parsed(text);
      request = ask;
      if (!isRootAsk(ask)) return refuse("it is not on the list");
      return { ask, input, work: workFor(ask, input) };
    } catch (error) {
      record({ id, request, phase: "refused", error: reasonOf(error) });
      throw error;
    }
  };

  /** Root's own record of what changes the host: who asks has one as well, and may not be trusted. */
  const recorded = async (
    id: string,
    { ask, input }: { ask: RootAsk; input: unknown },
    work: () => Promise<unknown>,
  ) => {
    if (rootAsks[ask].effect === "write") record({ id, request: ask, phase: "begun", input });
    try {
      const output = await work();
      if (rootAsks[ask].effect === "write") record({ id, request: ask, phase: "done" });
      return output;
    } catch (error) {
      if (rootAsks[ask].effect === "write") record({ id, request: ask, phase: "failed", error: reasonOf(error) });
      else if (error instanceof PluginUnconfirmed)
        record({ id, request: ask, phase: "refused", input, error: error.message });
      throw error;
    }
  };

  return async (id, text, cancelled) => {
    try {
      const { work, ...request } = admitted(id, text);
      const signal = AbortSignal.any([cancelled, AbortSignal.timeout(rootAskTimeoutMs(request.ask))]);
      return { output: await recorded(id, request, () => work(signal)) };
    } catch (error) {
      return { error: toWire(error) };
    }
  };
}
