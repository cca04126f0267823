import { systemClock } from "#adapters/clock/index.ts";
import type { PluginUser } from "#adapters/monitoring-plugin/index.ts";
import { openOperationStore } from "#adapters/operations/index.ts";
import { createHostStopping } from "#adapters/operations/launcher.ts";
import { isAlive, ownProcess } from "#adapters/operations/process.ts";
import { createConfigFiles } from "#adapters/packages/config-files.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { createListeningSockets } from "#adapters/sockets/index.ts";
import { createHostTracing, createTracedParts, type TracedParts, tracedOperation } from "#app/tracing/tracing.ts";
import type { Config } from "#config/load.ts";
import { createGuardReport } from "#domain/health/check-run.ts";
import { runTask, type TaskOutcome, type Verb } from "#domain/operations/task.ts";
import type { OperationStore, StoredOperation } from "#domain/ports/operations.ts";
import type { ConfirmedPlugins, EnabledPlugins } from "#domain/ports/plugins.ts";
import { createHostCondition, type HostCondition } from "#domain/updates/condition.ts";
import { downgradeRules } from "#domain/updates/downgrades.ts";
import { guardTimesOf } from "#domain/updates/guard.ts";
import { notifyEnd } from "#domain/updates/hooks.ts";
import { createNewErrors } from "#domain/updates/new-errors.ts";
import { asVerbs, updateKinds, updateVerbs, verbsWithoutPackages } from "#domain/updates/verbs.ts";
import type { Logger } from "#telemetry/logger.ts";
import { createHostChecks } from "./checks.ts";
import { type Host, openHost } from "./host.ts";
import { startTaskPlugins, type TaskPlugins } from "./plugins.ts";
import { createHostUpdates, createStaleHost } from "./updates.ts";

async function createCondition(
  config: Config,
  host: Host,
  traced: TracedParts,
  options: {
    readonly log: Logger;
    readonly isSafeMode: boolean;
    readonly enabled?: EnabledPlugins | undefined;
    readonly confirmed?: ConfirmedPlugins | undefined;
    readonly pluginUser?: PluginUser | undefined;
  },
): Promise<HostCondition & Pick<TaskPlugins, "hooks"> & { readonly dispose: () => Promise<void> }> {
  const { exec } = traced;
  const { checks, plan } = createHostChecks({ config, host, exec, pluginUser: options.pluginUser });
  const plugins = await startTaskPlugins({ config, exec, checks, plan, ...options });
  const report = createGuardReport({ checks: [...checks, ...plugins.checks], settings: plan, clock: systemClock });
  const { units } = host.systemd;
  return {
    hooks: plugins.hooks,
    ...createHostCondition({
      units,
      sockets: createListeningSockets(),
      async report(signal) {
        const all = await report(signal);
        return Object.fromEntries(Object.entries(all).filter(([id]) => !plugins.replaced.has(id)));
      },
    }),
    async dispose() {
      await plugins.stop();
      host.dispose();
    },
  };
}

async function notifyHooks(
  outcome: TaskOutcome,
  hooks: TaskPlugins["hooks"],
  operation: StoredOperation | undefined,
): Promise<TaskOutcome> {
  if (outcome !== "left" && operation !== undefined) await notifyEnd(hooks, operation);
  return outcome;
}

interface TaskParts {
  readonly version: string;
  readonly log: Logger;
  readonly isSafeMode: boolean;
  readonly store?: OperationStore;
  /** Runs the work, or throws a DomainError to refuse it. */
  readonly around?: AroundWork;
  readonly enabled?: EnabledPlugins;
  /** Plugins that may run as root; all by default. */
  readonly confirmed?: ConfirmedPlugins;
  readonly pluginUser?: PluginUser;
}

type AroundWork = (kind: string, input: unknown, work: () => Promise<unknown>) => Promise<unknown>;

const wrapVerbs = (verbs: Readonly<Record<string, Verb>>, around: AroundWork): Readonly<Record<string, Verb>> =>
  Object.fromEntries(
    Object.entries(verbs).map(([kind, verb]): [string, Verb] => [
      kind,
      (input, context) => around(kind, input, () => verb(input, context)),
    ]),
  );

/** Loads everything first: an update may replace this program. Its span is a child of the request. */
export async function runOperation(
  id: string,
  config: Config,
  {
    version,
    log,
    isSafeMode,
    around = (_kind, _input, work) => work(),
    enabled,
    confirmed,
    pluginUser,
    ...given
  }: TaskParts,
): Promise<TaskOutcome> {
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort(new Error("stopped by SIGTERM")));
  // Only the service has metrics.
  const tracing = await createHostTracing(config, { version, log, onSpans: () => undefined });
  const traced = createTracedParts(tracing?.tracer);
  const { exec } = traced;
  const host = openHost(config.settings, { ...traced, stateDir: config.stateDir });
  // Outside of the span: its first questions to the bus are not the operation's.
  const condition = await createCondition(config, host, traced, { log, isSafeMode, enabled, confirmed, pluginUser });
  const store = given.store ?? openOperationStore({ stateDir: config.stateDir });
  try {
    const { settings } = config;
    const updates = createHostUpdates({ ...config, exec }, host.packages);
    const work = async (): Promise<TaskOutcome> => {
      const stale = createStaleHost(host.systemd.units);
      const updating = {
        condition,
        newErrors: createNewErrors(host.journal),
        clock: systemClock,
        guard: guardTimesOf(settings.updates?.guard_minutes),
        configFiles: createConfigFiles(),
        fileSystems: createFileSystems({ clock: systemClock }),
        rules: downgradeRules(settings.updates?.no_downgrade),
        keepSnapshots: settings.updates?.keep_snapshots ?? 10,
        stale,
      };
      const verbs = updates === undefined ? verbsWithoutPackages(stale) : updateVerbs({ ...updating, ...updates });
      const outcome = await runTask({
        id,
        store,
        launcher: { isAlive },
        kinds: updateKinds,
        verbs: wrapVerbs(asVerbs(verbs), around),
        clock: systemClock,
        self: ownProcess(),
        signal: stop.signal,
        isHostStopping: createHostStopping({ exec }),
        onTrouble: (error) => log.warn({ err: error, operation_id: id }, "cannot record operation"),
      });
      return notifyHooks(outcome, condition.hooks, store.read(id));
    };
    return await tracedOperation(tracing?.tracer, store.read(id)?.spec, work);
  } finally {
    await condition.dispose();
    await tracing?.close();
  }
}
