import type { CheckRunner } from "#domain/health/runner.ts";
import type { createHooks } from "#domain/plugins/hooks.ts";
import { createPlugins } from "#domain/plugins/plugins.ts";
import type { PluginFolders } from "#domain/plugins/ports.ts";
import { toCheck } from "./plugin-checks.ts";
import type { ServicePorts } from "./ports.ts";

/** The plugins, and what they are to checks and hooks. */
export function createPluginParts(
  ports: Pick<
    ServicePorts,
    "checkPlan" | "checks" | "clock" | "isSafeMode" | "loadPlugins" | "log" | "metrics" | "takenCheckIds"
  >,
  hooks: ReturnType<typeof createHooks>,
  runner: Pick<CheckRunner, "add">,
) {
  const { clock, log, metrics } = ports;
  const pluginCheckIds = new Set<string>();
  const plugins = createPlugins({
    load: ports.loadPlugins,
    isSafeMode: ports.isSafeMode,
    clock,
    points: {
      hooks,
      checks: {
        isTaken: (id) => ports.takenCheckIds.includes(id) || ports.checks.some((check) => check.id === id),
        add(check) {
          pluginCheckIds.add(check.id);
          return runner.add(toCheck(check, ports.checkPlan));
        },
      },
    },
    onRun: ({ plugin, result }) => metrics.pluginRun(plugin, result),
    onLoaded: (sandbox) => log.info({ sandbox }, "plugins are run in a sandbox"),
    onGone: metrics.pluginGone,
    onFault: (fault) => log.warn(fault, "enabled plugin does not run"),
  });
  const pluginsTrouble = (error: unknown): void => log.error({ err: error }, "plugins not loaded");
  const start = async (): Promise<void> => {
    await plugins.start().catch(pluginsTrouble);
    const isKnown = (id: string): boolean => pluginCheckIds.has(id) || ports.checks.some((check) => check.id === id);
    const unknown = Object.keys(ports.checkPlan.checks).filter((id) => !isKnown(id));
    if (unknown.length > 0) log.warn({ checks: unknown }, "settings for checks that do not exist");
  };
  let stopped: Promise<void> | undefined;
  return {
    plugins,
    start,
    replace: (folders: PluginFolders): void => void plugins.replace(folders).catch(pluginsTrouble),
    stop(): void {
      stopped = plugins.stop().catch((error: unknown) => log.error({ err: error }, "plugins not ended in order"));
    },
    /** Once they have been told to stop, when they have. */
    stopped: () => stopped,
    tellLeft(): void {
      const left = plugins.running();
      if (left.length > 0) log.error({ plugins: left }, "plugins not ended in time");
    },
  };
}
