import { createBackupDirectories } from "#adapters/backup-directories/index.ts";
import { createDiskCleanup } from "#adapters/cleanup/index.ts";
import { systemClock } from "#adapters/clock/index.ts";
import { createComponentProbe } from "#adapters/component-probe/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createHostFiles, getBySocket } from "#adapters/host-files/index.ts";
import { createPluginRunner, type PluginUser } from "#adapters/monitoring-plugin/index.ts";
import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { createNameServers } from "#adapters/resolver/index.ts";
import { createDefaultRoutes } from "#adapters/routes/index.ts";
import { createListeningSockets } from "#adapters/sockets/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import { ownServiceUnit } from "#adapters/systemd/index.ts";
import { createTimeSync } from "#adapters/timedate/index.ts";
import { certificateFiles } from "#adapters/tls/warnings.ts";
import { backupTargets, checkPlan, pluginSettings } from "#config/checks.ts";
import type { Config } from "#config/load.ts";
import { probeTargets } from "#config/probes.ts";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import type { Check } from "#domain/health/check.ts";
import type { CheckPlan } from "#domain/health/check-run.ts";
import type { HistoryOfRuns } from "#domain/health/check-states.ts";
import type { Fix } from "#domain/health/fix.ts";
import type { FixerPorts } from "#domain/health/fixer.ts";
import { builtInFixes, type FixPorts } from "#domain/health/fixes-registry.ts";
import { pluginCheck } from "#domain/health/plugin/plugin-check.ts";
import { builtInChecks } from "#domain/health/registry.ts";
import { createCheckRunner } from "#domain/health/runner.ts";
import { checksThroughRoot } from "#root/checks-through-root.ts";
import type { RootSide } from "#root/request.ts";
import { type Host, openHost } from "./host.ts";
import { certificatePaths } from "./parts/tls.ts";
import { untraced } from "./tracing/tracing.ts";

export interface HostChecks {
  readonly checks: readonly Check[];
  readonly fixes: (parts: Pick<FixPorts, "security">) => readonly Fix[];
  readonly openElsewhere?: FixerPorts["openElsewhere"];
  readonly plan: CheckPlan;
}

export function createHostChecks(parts: {
  readonly config: Config;
  readonly host: Pick<Host, "facts" | "systemd" | "journal" | "packages">;
  readonly exec: Exec;
  readonly certificatePaths?: () => readonly string[];
  readonly ownUnit?: string | undefined;
  readonly rootSide?: RootSide | undefined;
  /** The user of monitoring plugins, where root runs them for a service without rights. */
  readonly pluginUser?: PluginUser | undefined;
}): HostChecks {
  const { config, exec, rootSide } = parts;
  const { facts, systemd, journal, packages } = parts.host;
  const { settings } = config;
  const clock = systemClock;
  // What the service cannot look at itself, root can.
  const fileSystems = createFileSystems({ clock, isWhole: rootSide !== undefined });
  const time = createTimeSync({ exec });
  const ownRunner = createPluginRunner({ exec });
  const runner = createPluginRunner({ exec, user: parts.pluginUser });
  const plugins = pluginSettings(settings);
  const { units, timers } = systemd;
  const shared = { clock, fileSystems, journal, time, units, packages };

  const builtIn = builtInChecks({
    ...shared,
    facts,
    timers,
    servers: createNameServers(),
    routes: createDefaultRoutes(),
    reboot: createRebootNeed(),
    files: certificateFiles,
    paths: parts.certificatePaths ?? (() => certificatePaths(config)),
    raidArrays: createRaidArrays(),
    ssh: createSshServer({ exec }),
    sockets: createListeningSockets(),
    endpoints: probeTargets(settings)
      .filter(({ target }) => target.kind !== "unit")
      .map(({ name, target }) => ({ name, probe: createComponentProbe({ target, readUnit: units.read }) })),
    hostFiles: createHostFiles(),
    exec,
    getBySocket,
    backupDirectories: createBackupDirectories({ look: lookApart }),
    backupTargets: backupTargets(settings),
  });
  const checks = [
    ...builtIn.filter(({ id }) => !plugins.some((plugin) => plugin.id === id)),
    ...plugins.map((plugin) => pluginCheck({ ...plugin, runner: plugin.isRoots ? ownRunner : runner })),
  ];
  const plan = checkPlan(settings);
  const fixes: HostChecks["fixes"] = ({ security }) =>
    builtInFixes({
      ...shared,
      security,
      ownUnit: parts.ownUnit ?? ownServiceUnit(),
      cleanup: createDiskCleanup({ exec, look: lookApart, clock }),
    });
  if (rootSide === undefined) return { checks, fixes, plan };
  const idsOf = (isRoots: boolean) => plugins.filter((plugin) => plugin.isRoots === isRoots).map(({ id }) => id);
  const ownPlugins = idsOf(false);
  const through = checksThroughRoot(
    checks.filter(({ id }) => !ownPlugins.includes(id)),
    rootSide.request,
    clock,
    idsOf(true),
  );
  return {
    checks: checks.map((check) => through.find(({ id }) => id === check.id) ?? check),
    fixes,
    openElsewhere: rootSide.openFix,
    plan,
  };
}

/** The history belongs to the service, which may be starting. */
const noHistory: HistoryOfRuns = {
  record: () => undefined,
  state: () => undefined,
  recentRuns: () => ({ runs: [], total: 0 }),
  transitions: () => ({ runs: [], total: 0 }),
  suspend: () => undefined,
  flush: () => undefined,
  forget: () => undefined,
};

/** Runs all checks once, read-only, without a service and without plugins: only the service knows which of them may run. */
export async function runLocalChecks(
  config: Config,
  onResult: (result: HealthCheckResult) => void,
): Promise<HealthCheckList> {
  const host = openHost(config.settings, untraced);
  const { checks, plan } = createHostChecks({ config, host, exec: untraced.exec });
  const runner = createCheckRunner({
    checks,
    settings: plan,
    history: noHistory,
    clock: systemClock,
    onRun: ({ result }) => onResult(result),
    onTrouble: () => undefined,
  });
  try {
    return await runner.list();
  } finally {
    runner.dispose();
    host.dispose();
  }
}
