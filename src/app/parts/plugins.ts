import { ownServiceUnit } from "#adapters/systemd/index.ts";
import type { PartContext } from "#app/part.ts";
import { toCheck } from "#app/plugin-check.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import type { Settings } from "#config/settings.ts";
import type { Check } from "#domain/health/check.ts";
import { builtInCheckIds } from "#domain/health/registry.ts";
import type { CheckPlan, CheckRunner } from "#domain/health/runner.ts";
import { pluginHandlers } from "#domain/plugins/handlers.ts";
import { createHooks } from "#domain/plugins/hooks.ts";
import { createPlugins, type PluginParts } from "#domain/plugins/plugins.ts";
import type { PluginFolders } from "#domain/ports/plugins.ts";
import { lazy } from "#kernel/async.ts";
import type { Door } from "#root/door.ts";
import { places } from "#root/places.ts";

/** Where plugins are asked and told by other parts, which come before them. */
export function createHookPoints({ clock, log }: Pick<PartContext, "clock" | "log">) {
  const started = Promise.withResolvers<void>();
  let isReady = false;
  return {
    hooks: createHooks({
      clock,
      onFailure: ({ hook, event, error }) => log.warn({ plugin: hook, event, err: error }, "hook without an answer"),
    }),
    /** Resolves once the hooks of all plugins are there. */
    ready: started.promise,
    isReady: () => isReady,
    setReady(): void {
      isReady = true;
      started.resolve();
    },
  };
}

export type HookPoints = ReturnType<typeof createHookPoints>;

/** The plugins, and what they are to checks and hooks. */
export function createPluginsPart(
  ports: Pick<PartContext, "clock" | "log" | "metrics"> & {
    /** The plugin folders, and what runs plugins; asked for when there is something to do with them. */
    readonly load: () => Promise<PluginParts>;
    /** Whether to start without any plugin. */
    readonly isSafeMode: boolean;
    readonly hookPoints: HookPoints;
    /** Names that no check of a plugin may have, whether this host has such checks or not. */
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
    onFault: (fault) => log.warn(fault, "enabled plugin does not run"),
  });
  const onTrouble = (error: unknown): void => log.error({ err: error }, "plugins not loaded");
  return {
    handlers: pluginHandlers({ plugins, clock }),
    /** Puts other plugin folders in place of those that there are. */
    replace: (folders: PluginFolders): void => void plugins.replace(folders).catch(onTrouble),
    async start(): Promise<void> {
      await plugins.start().catch(onTrouble);
      const unknown = Object.keys(health.plan.checks).filter((id) => !ids.has(id) && !isOwn(id));
      if (unknown.length > 0) log.warn({ checks: unknown }, "settings for checks that do not exist");
      hookPoints.setReady();
    },
    /** What they have started is not to outlive the service. */
    stop: () => plugins.stop().catch((error: unknown) => log.error({ err: error }, "plugins not ended in order")),
    /** Logs which of them still run. */
    tellLeft(): void {
      const left = plugins.running();
      if (left.length > 0) log.error({ plugins: left }, "plugins not ended in time");
    },
  };
}

/** Builds the part on the plugin folders of the settings and the sandbox of this host. */
export function buildPluginsPart(
  context: PartContext,
  ports: {
    readonly isSafeMode: boolean;
    readonly hookPoints: HookPoints;
    readonly health: Parameters<typeof createPluginsPart>[0]["health"];
    readonly traced: Pick<TracedParts, "exec">;
    readonly door: Door | undefined;
  },
) {
  const { config, log } = context;
  const { traced, door, ...given } = ports;
  const load = lazy(async () => {
    // Loaded on demand: a host without plugins has no use for it.
    const { createHostPlugins } = await import("#app/plugins.ts");
    const { openConfirmedPlugins } = await import("#adapters/plugins/index.ts");
    const throughDoor = door && { ask: door.ask, confirmed: openConfirmedPlugins(places.confirmedDir) };
    return createHostPlugins(config, { exec: traced.exec, log, ownUnit: ownServiceUnit(), ...throughDoor });
  });
  const part = createPluginsPart({ ...context, ...given, load, takenCheckIds: builtInCheckIds });
  return {
    ...part,
    /** Takes up the folders of other settings. */
    async reload(settings: Pick<Settings, "plugins">): Promise<void> {
      const { pluginFoldersOf } = await import("#app/plugin-folders.ts");
      part.replace(pluginFoldersOf(settings, door !== undefined));
    },
  };
}
