import { openConfirmedPlugins } from "#adapters/plugins/index.ts";
import { ownServiceUnit } from "#adapters/systemd/index.ts";
import type { PartContext } from "#app/part.ts";
import { createHostPlugins, loggedHooks, pluginDirectoriesOf, toCheck } from "#app/plugins.ts";
import type { Config } from "#config/load.ts";
import { builtInCheckIds } from "#contract/check-meanings.ts";
import type { Check } from "#domain/health/check.ts";
import type { CheckPlan } from "#domain/health/check-run.ts";
import type { CheckRunner } from "#domain/health/runner.ts";
import { pluginHandlers } from "#domain/plugins/handlers.ts";
import { createPlugins, type PluginParts } from "#domain/plugins/plugins.ts";
import type { PluginDirectories } from "#domain/ports/plugins.ts";
import { createEmitter } from "#kernel/async.ts";
import { places } from "#root/places.ts";
import type { RootSide } from "#root/request.ts";
import type { TracesPart } from "./host.ts";

/** Where hooks of plugins are called, by parts that are made before them. */
export function hookPoints({ clock, log }: Pick<PartContext, "clock" | "log">) {
  const loading = Promise.withResolvers<void>();
  let hasLoaded = false;
  return {
    hooks: loggedHooks(clock, log),
    /** Resolves when all plugins have been loaded. */
    loaded: loading.promise,
    isLoaded: () => hasLoaded,
    setLoaded(): void {
      hasLoaded = true;
      loading.resolve();
    },
  };
}

export type HookPoints = ReturnType<typeof hookPoints>;

export interface PluginFault {
  readonly plugin: string;
  readonly fault: string;
}

interface Earlier {
  readonly traces: Pick<TracesPart, "traced">;
  readonly rootSide: RootSide | undefined;
  readonly hookPoints: Pick<HookPoints, "hooks" | "setLoaded">;
  readonly health: {
    readonly checks: readonly Pick<Check, "id">[];
    readonly plan: CheckPlan;
    readonly runner: Pick<CheckRunner, "add">;
  };
}

interface PluginAdapters {
  readonly load: () => Promise<PluginParts>;
  /** Ids of built-in checks, whether this host has them or not. */
  readonly takenCheckIds: readonly string[];
}

function openPlugins({ config, log }: PartContext, { traces, rootSide }: Earlier): PluginAdapters {
  const { exec } = traces.traced;
  return {
    load() {
      const confirmed = rootSide && openConfirmedPlugins(places.confirmedDir);
      return Promise.resolve(createHostPlugins(config, { exec, log, ownUnit: ownServiceUnit(), rootSide, confirmed }));
    },
    takenCheckIds: builtInCheckIds,
  };
}

export function pluginsPart(context: PartContext, earlier: Earlier, adapters = openPlugins(context, earlier)) {
  const { clock, log, metrics, isSafeMode } = context;
  const { rootSide, hookPoints, health } = earlier;
  const { load, takenCheckIds } = adapters;
  const ids = new Set<string>();
  const disabled = createEmitter<PluginFault>();
  const isOwn = (id: string): boolean => health.checks.some((check) => check.id === id);
  const plugins = createPlugins({
    load,
    isSafeMode,
    clock,
    points: {
      hooks: hookPoints.hooks,
      checks: {
        isTaken: (id) => takenCheckIds.includes(id) || isOwn(id),
        add(check) {
          ids.add(check.id);
          return health.runner.add(toCheck(check, health.plan));
        },
      },
    },
    onRun: ({ plugin, result }) => metrics.pluginRun(plugin, result),
    onLoaded: (sandbox) => log.info({ sandbox }, "plugins are run in a sandbox"),
    onGone: metrics.pluginGone,
    onFault(fault) {
      log.warn(fault, "enabled plugin does not run");
      if (!isSafeMode) disabled.emit(fault);
    },
  });
  const onTrouble = (error: unknown): void => log.error({ err: error }, "cannot load plugins");
  const replace = (directories: PluginDirectories): void => void plugins.replace(directories).catch(onTrouble);
  return {
    handlers: pluginHandlers({ plugins, clock }),
    /** Reports enabled plugins that do not run. */
    onDisabled: disabled.on,
    replace,
    reload: ({ settings }: Config): void => replace(pluginDirectoriesOf(settings, rootSide !== undefined)),
    async start(): Promise<void> {
      await plugins.start().catch(onTrouble);
      const unknown = Object.keys(health.plan.checks).filter((id) => !ids.has(id) && !isOwn(id));
      if (unknown.length > 0) log.warn({ checks: unknown }, "settings for checks that do not exist");
      hookPoints.setLoaded();
    },
    /** Plugins must not outlive the service. */
    stop: () => plugins.stop().catch((error: unknown) => log.error({ err: error }, "cannot stop plugins")),
    logRunning(): void {
      const left = plugins.running();
      if (left.length > 0) log.error({ plugins: left }, "plugins did not stop in time");
    },
  };
}

export type PluginsPart = ReturnType<typeof pluginsPart>;
