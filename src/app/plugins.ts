import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createPluginDirectories, createPluginSandbox, openEnabledPlugins } from "#adapters/plugins/index.ts";
import type { Config } from "#config/load.ts";
import type { Settings } from "#config/settings.ts";
import { builtInCheckIds } from "#contract/check-meanings.ts";
import type { Check } from "#domain/health/check.ts";
import type { CheckPlan } from "#domain/health/check-run.ts";
import { sandboxedCheck } from "#domain/health/plugin/plugin-check.ts";
import { confirmedSandbox } from "#domain/plugins/confirmation.ts";
import { changedFault, goneFault } from "#domain/plugins/guarded-run.ts";
import { createHooks } from "#domain/plugins/hooks.ts";
import type { PluginCheck } from "#domain/plugins/plugin-kind.ts";
import { createPlugins, type PluginParts } from "#domain/plugins/plugins.ts";
import {
  type ConfirmedPlugins,
  type EnabledPlugins,
  type PluginDirectories,
  PluginNotRun,
  type PluginRun,
} from "#domain/ports/plugins.ts";
import type { Clock } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import { places } from "#root/places.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot } from "#root/through-root.ts";
import type { Logger } from "#telemetry/logger.ts";

const usualDirs = ["/etc/steward/plugins", "/usr/lib/steward/plugins"];

/** The plugin directories of the settings; their files must belong to root where root runs them. */
export const pluginDirectoriesOf = (
  { plugins = {} }: Pick<Settings, "plugins">,
  isRunByRoot = false,
): PluginDirectories =>
  createPluginDirectories({
    dirs: plugins.dirs ?? usualDirs,
    now: systemClock.now,
    look: lookApart,
    ...(isRunByRoot && { owner: { uid: 0 } }),
  });

/** The check of a plugin; the timeout of the settings takes precedence over its manifest. */
export function toCheck(plugin: PluginCheck, plan: Pick<CheckPlan, "checks">): Check {
  const { id, title, severity, intervalMs, output, guardsUpdates } = plugin;
  const timeoutMs = plan.checks[id]?.timeoutMs ?? plugin.timeoutMs;
  return sandboxedCheck({
    id,
    name: title,
    severity,
    intervalMs,
    timeoutMs,
    output,
    guardsUpdates,
    async run(signal): Promise<PluginRun> {
      try {
        const { exitCode, stdout, stderr, isTruncated } = await plugin.run(timeoutMs, signal);
        return { isEnded: true, exitCode, stdout, stderr, isCut: isTruncated };
      } catch (error) {
        if (!(error instanceof PluginNotRun)) throw error;
        return { isEnded: false, reason: error.message, ...(error.output && { output: error.output }) };
      }
    },
  });
}

export function createHostPlugins(
  { stateDir, settings }: Pick<Config, "stateDir" | "settings">,
  {
    exec,
    log,
    ownUnit,
    rootSide,
    confirmed,
  }: {
    readonly exec: Exec;
    readonly log: Pick<Logger, "warn" | "error">;
    readonly ownUnit?: string | undefined;
    /** Runs them, where this process has no rights. */
    readonly rootSide?: Pick<RootSide, "request"> | undefined;
    /** Root's list of confirmed plugins, for a service without rights. */
    readonly confirmed?: ConfirmedPlugins | undefined;
  },
): PluginParts {
  const sandbox = createPluginSandbox({
    exec,
    hidden: [...new Set([stateDir, places.stateDir, places.tasksDir])],
    partOf: ownUnit,
    ...(rootSide && { hasSystemd: () => true }),
    onNotEnded({ plugin, unit, error, isTriedAgain }) {
      const fields = { plugin, unit, err: error };
      if (isTriedAgain) log.warn(fields, "cannot stop a plugin at the first attempt");
      else log.error(fields, "cannot stop a plugin");
    },
  });
  const own = confirmed === undefined ? sandbox : confirmedSandbox(sandbox, confirmed);
  return {
    directories: pluginDirectoriesOf(settings, rootSide !== undefined),
    sandbox: throughRoot(own, rootSide, (request) => ({
      run({ manifest: { timeoutMs, role }, path, digest, args, stdin }, signal) {
        const call = { path, digest, timeoutMs, ...defined({ stdin }) };
        return role.type === "command"
          ? request("plugin.run", { ...call, args }, signal)
          : request("plugin.call", call, signal);
      },
      tryStart: ({ path, digest }, signal) => request("plugin.try_start", { path, digest }, signal),
    })),
    confirmed,
    enabled: openEnabledPlugins({
      stateDir,
      onTrouble: (error, aside) =>
        log.warn(
          { err: error, moved_aside: aside ?? null },
          "cannot read the list of enabled plugins; none is enabled",
        ),
    }),
  };
}

export const loggedHooks = (clock: Clock, log: Pick<Logger, "warn">) =>
  createHooks({
    clock,
    onFailure: ({ hook, event, error }) => log.warn({ plugin: hook, event, err: error }, "no answer from a hook"),
  });

export type TaskPlugins = Awaited<ReturnType<typeof startTaskPlugins>>;

/** An update of a plugin says nothing about the host: a replaced plugin is noted, and a removed one is skipped. */
function withoutOwnFaults(check: Check, replaced: Set<string>): Check {
  return {
    ...check,
    async run(settings, signal) {
      const outcome = await check.run(settings, signal);
      const error = outcome.details["error"];
      if (error === changedFault) replaced.add(check.id);
      else replaced.delete(check.id);
      return error === goneFault ? { ...outcome, status: "skip" } : outcome;
    },
  };
}

export async function startTaskPlugins(ports: {
  readonly config: Config;
  readonly exec: Exec;
  readonly log: Logger;
  readonly checks: readonly Check[];
  readonly plan: CheckPlan;
  readonly isSafeMode: boolean;
  readonly enabled?: EnabledPlugins | undefined;
  readonly confirmed?: ConfirmedPlugins | undefined;
}) {
  const { config, exec, log, plan, isSafeMode, enabled, confirmed } = ports;
  const checks: Check[] = [];
  /** Checks whose plugin had changed on disk at the last run. */
  const replaced = new Set<string>();
  const hooks = loggedHooks(systemClock, log);
  const plugins = createPlugins({
    load: () =>
      Promise.resolve({ ...createHostPlugins(config, { exec, log, confirmed }), ...(enabled && { enabled }) }),
    isSafeMode,
    clock: systemClock,
    points: {
      hooks,
      checks: {
        isTaken: (id) => builtInCheckIds.includes(id) || ports.checks.some((check) => check.id === id),
        add(check) {
          checks.push(withoutOwnFaults(toCheck(check, plan), replaced));
          return () => undefined;
        },
      },
    },
    // Only the service has metrics.
    onRun: () => undefined,
    onLoaded: () => undefined,
    onGone: () => undefined,
    onFault: (fault) => log.warn(fault, "enabled plugin does not run"),
  });
  await plugins.start().catch((error: unknown) => log.error({ err: error }, "cannot load plugins"));
  return { hooks, checks, replaced, stop: plugins.stop };
}
