import { openConfirmedPlugins } from "#adapters/plugins/index.ts";
import { ownServiceUnit } from "#adapters/systemd/index.ts";
import type { PartContext } from "#app/part.ts";
import { createHostPlugins, pluginFoldersOf, toCheck } from "#app/plugins.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import type { Settings } from "#config/settings.ts";
import { builtInCheckIds } from "#contract/check-meanings.ts";
import type { Check } from "#domain/health/check.ts";
import type { CheckPlan, CheckRunner } from "#domain/health/runner.ts";
import { pluginHandlers } from "#domain/plugins/handlers.ts";
import { createHooks } from "#domain/plugins/hooks.ts";
import { createPlugins, type PluginParts } from "#domain/plugins/plugins.ts";
import type { PluginFolders } from "#domain/ports/plugins.ts";
import { places } from "#root/places.ts";
import type { RootSide } from "#root/request.ts";

export function createHookPoints({ clock, log }: Pick<PartContext, "clock" | "log">) {
  const started = Promise.withResolvers<void>();
  let isReady = false;
  return {
    hooks: createHooks({
      clock,
      onFailure: ({ hook, event, error }) => log.warn({ plugin: hook, event, err: error }, "hook without an answer"),
    }),
    ready: started.promise,
    isReady: () => isReady,
    setReady(): void {
      isReady = true;
      started.resolve();
    },
  };
}

export type HookPoints = ReturnType<typeof createHookPoints>;

interface PluginFault {
  readonly plugin: string;
  readonly fault: string;
}

export function createPluginsPart(
  ports: Pick<PartContext, "clock" | "log" | "metrics"> & {
    readonly load: () => Promise<PluginParts>;
    readonly isSafeMode: boolean;
    readonly hookPoints: HookPoints;
    /** Ids of built-in checks, whether this host has them or not. */
    readonly takenCheckIds: readonly string[];
    readonly health: {
      readonly checks: readonly Pick<Check, "id">[];
      readonly plan: CheckPlan;
      readonly runner: Pick<CheckRunner, "add">;
    };
  },
) {
  const { clock, log, metrics, isSafeMode, hookPoints, takenCheckIds, health } = ports;
  const ids = new Set<string>();
  const disabledListeners = new Set<(fault: PluginFault) => void>();
  const isOwn = (id: string): boolean => health.checks.some((check) => check.id === id);
  const plugins = createPlugins({
    load: ports.load,
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
      if (!isSafeMode) for (const listener of disabledListeners) listener(fault);
    },
  });
  const onTrouble = (error: unknown): void => log.error({ err: error }, "plugins not loaded");
  return {
    handlers: pluginHandlers({ plugins, clock }),
    /** Reports enabled plugins that do not run. */
    onDisabled: (listener: (fault: PluginFault) => void): void => void disabledListeners.add(listener),
    replace: (folders: PluginFolders): void => void plugins.replace(folders).catch(onTrouble),
    async start(): Promise<void> {
      await plugins.start().catch(onTrouble);
      const unknown = Object.keys(health.plan.checks).filter((id) => !ids.has(id) && !isOwn(id));
      if (unknown.length > 0) log.warn({ checks: unknown }, "settings for checks that do not exist");
      hookPoints.setReady();
    },
    /** Plugins must not outlive the service. */
    stop: () => plugins.stop().catch((error: unknown) => log.error({ err: error }, "plugins not ended in order")),
    tellLeft(): void {
      const left = plugins.running();
      if (left.length > 0) log.error({ plugins: left }, "plugins not ended in time");
    },
  };
}

export function buildPluginsPart(
  context: PartContext,
  ports: {
    readonly isSafeMode: boolean;
    readonly hookPoints: HookPoints;
    readonly health: Parameters<typeof createPluginsPart>[0]["health"];
    readonly traced: Pick<TracedParts, "exec">;
    readonly rootSide: RootSide | undefined;
  },
) {
  const { config, log } = context;
  const { traced, rootSide, ...given } = ports;
  const load = () => {
    const confirmed = rootSide && openConfirmedPlugins(places.confirmedDir);
    const { exec } = traced;
    return Promise.resolve(createHostPlugins(config, { exec, log, ownUnit: ownServiceUnit(), rootSide, confirmed }));
  };
  const part = createPluginsPart({ ...context, ...given, load, takenCheckIds: builtInCheckIds });
  return {
    ...part,
    reload(settings: Pick<Settings, "plugins">): void {
      part.replace(pluginFoldersOf(settings, rootSide !== undefined));
    },
  };
}
