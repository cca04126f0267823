import { lookup } from "node:dns/promises";
import { statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { exec } from "#adapters/exec/index.ts";
import { describeKeyStoreLoss, KeyStoreLost } from "#adapters/keystore/index.ts";
import { createPluginFolders, inspectPlugin } from "#adapters/plugins/index.ts";
import { createNameServers } from "#adapters/resolver/index.ts";
import { listHostAudit, verifyHostAudit } from "#app/audit.ts";
import { runLocalChecks } from "#app/checks.ts";
import { egressDropIn } from "#app/egress.ts";
import { runOperation } from "#app/operation.ts";
import { safeModeVariable } from "#app/operation-program.ts";
import { checkTlsFiles } from "#app/parts/tls.ts";
import { unreadableFiles } from "#app/readable-files.ts";
import { serve } from "#app/serve.ts";
import { stackHost } from "#app/stack.ts";
import { endWithStarter } from "#app/starter.ts";
import { cleanIo, ioOfProcess, type LocalCommands, NeedsDecision, type PluginReport } from "#cli/index.ts";
import { configFile, type Environment } from "#config/defaults.ts";
import { type Fault, formatFault, SettingsFaulty } from "#config/faults.ts";
import { type Config, loadConfig } from "#config/load.ts";
import { reservedCheckIds } from "#domain/health/registry.ts";
import { permissionWords } from "#domain/plugins/permissions.ts";
import type { FoundPlugin } from "#domain/ports/plugins.ts";
import { createPluginConfirmation } from "#root/confirm-plugin.ts";
import { places } from "#root/places.ts";
import { serveRequest } from "#root/serve-request.ts";
import { requireRootSettings } from "#root/settings.ts";

import { isJournal, noticeMark, withPriorities } from "#telemetry/journal-output.ts";
import { createLineWriter } from "#telemetry/line-writer.ts";
import { createLogs } from "#telemetry/logger.ts";

/** As `ps`, `top` and the check of the firewall show it: Node calls its first thread MainThread. */
function takeName(): void {
  try {
    writeFileSync("/proc/self/comm", "steward");
  } catch {
    // Where there is no such file, nobody reads the name from it either.
  }
}

/** Log lines to standard output, for programs that keep a log. */
function openLogs(environment: Environment) {
  const writer = createLineWriter(process.stdout.fd);
  // Whatever ends the process, its last lines are out first.
  process.on("exit", writer.flush);
  const toJournal = isJournal(process.stdout.fd, environment);
  const logWriter = toJournal ? withPriorities(writer) : writer;
  return {
    logsOf: (level: Parameters<typeof createLogs>[0]["level"]) => createLogs({ level, writer: logWriter }),
    /** Writes a line as a notice before it returns. @throws Error when nobody takes it. */
    writeNotice: (line: string) => writer.writeNow(`${toJournal ? noticeMark : ""}${line}`),
  };
}

/** Root reads every file; what matters is whether the user of the installed service can. */
async function unreadableFaults({ settings, stateDir, faultAt }: Config): Promise<readonly Fault[]> {
  const owner = stateDir === places.stateDir ? statSync(stateDir, { throwIfNoEntry: false }) : undefined;
  if (process.getuid?.() !== 0 || owner === undefined || owner.uid === 0) return [];
  const unreadable = await unreadableFiles(settings, { exec, uid: owner.uid, gid: owner.gid });
  return unreadable.map(({ path, file }) =>
    faultAt(path, `the service cannot read ${file} (chown root:steward ${file} && chmod 640 ${file})`),
  );
}

/** What the service would say of a plugin, and every fault of it. */
function pluginReport(folder: string, { path, loaded }: FoundPlugin): PluginReport {
  if ("manifest" in loaded) {
    const { name, version, role, permissions } = loaded.manifest;
    return { path, faults: [], plugin: { name, version, type: role.type, permissions: permissionWords(permissions) } };
  }
  const all = inspectPlugin(folder);
  // A fault that was corrected between the two was one when it was loaded.
  const faults = all.length > 0 ? all : [loaded.fault];
  return { path, faults: faults.map((fault) => ({ text: fault.replace(/^(?=plugin\.yaml:)/, `${path}/`) })) };
}

async function checkPlugin(folder: string): Promise<PluginReport> {
  const folders = createPluginFolders({ dirs: [dirname(folder)], now: () => Date.now() });
  const found = await folders.read(folder);
  if (found === undefined) throw new Error(`cannot look at ${folder}: there is no such folder`);
  return pluginReport(folder, found);
}

type EgressOptions = Parameters<LocalCommands["egress"]>[0];

/** A drop-in for the unit of the service that permits what the settings need. */
async function egress(config: Config, { clients, allow }: EgressOptions) {
  const { text, unresolved } = await egressDropIn(config, {
    clients,
    allow,
    now: new Date(),
    nameServers: createNameServers().list,
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  });
  const lines = unresolved.map(
    ({ purpose, host }) => `cannot permit ${purpose}: ${host} could not be resolved (give its addresses with --allow)`,
  );
  return { text, unresolved: lines };
}

type LocalAudit = LocalCommands["audit"];

/** What commands do in this process with the whole of the service, instead of asking it. */
export function createLocalCommands({ version, environment }: { version: string; environment: Environment }) {
  const load = (file?: string): Config =>
    loadConfig({ file, environment, isRoot: process.getuid?.() === 0, builtInCheckIds: reservedCheckIds });

  /** What root does for a service without rights is said by settings that only root can change. */
  function requireSettingsOfRoot(): void {
    const file = configFile(undefined, environment);
    if (file !== undefined) requireRootSettings(file);
  }

  async function checkConfig(named: string | undefined) {
    const file = configFile(named, environment);
    try {
      const config = load(named);
      const tls = await checkTlsFiles(config, Date.now());
      const loss = describeKeyStoreLoss(config.stateDir);
      const faults = [
        ...tls.faults.map((message) => config.faultAt(["tls"], message)),
        ...(loss === undefined ? [] : [config.faultAt(["state_dir"], loss)]),
        ...(await unreadableFaults(config)),
      ];
      if (faults.length > 0) throw new SettingsFaulty(faults);
      return { file, faults: [], warnings: [...config.warnings, ...tls.warnings.map((text) => `tls: ${text}`)] };
    } catch (error) {
      if (!(error instanceof SettingsFaulty)) throw error;
      return { file, faults: error.faults.map((fault) => ({ ...fault, text: formatFault(fault) })), warnings: [] };
    }
  }

  async function runService({
    config: file,
    newAdminKey = false,
    safeMode = false,
  }: Parameters<LocalCommands["serve"]>[0]) {
    endWithStarter();
    takeName();
    const { logsOf } = openLogs(environment);
    try {
      const config = load(file);
      await serve(config, {
        version,
        logs: logsOf(config.logLevel),
        newAdminKey,
        isSafeMode: safeMode,
        reload: () => load(file),
        tell: cleanIo(ioOfProcess(process)).err,
      });
    } catch (error) {
      const needsDecision = error instanceof SettingsFaulty || error instanceof KeyStoreLost;
      throw needsDecision ? new NeedsDecision(error.message, { cause: error }) : error;
    }
  }

  async function runTask(id: string, askedBy?: string) {
    takeName();
    const taskOptions = () => {
      const config = load();
      const { logsOf, writeNotice: writeRecord } = openLogs(environment);
      const { log } = logsOf(config.logLevel);
      return { config, writeRecord, options: { version, log, isSafeMode: environment[safeModeVariable] === "1" } };
    };
    if (askedBy === undefined) {
      const { config, options } = taskOptions();
      return runOperation(id, config, options);
    }
    return serveRequest({
      instance: id,
      user: askedBy,
      prepare() {
        requireSettingsOfRoot();
        return Promise.resolve(taskOptions());
      },
    });
  }

  return {
    loadConfig: load,
    serve: runService,
    runTask,
    checkConfig,
    egress: (options: EgressOptions) => egress(load(options.config), options),
    checkPlugin,
    pluginConfirmation() {
      requireSettingsOfRoot();
      return createPluginConfirmation(load());
    },
    stackHost: (url: string | undefined) => stackHost(load(), url),
    audit: {
      list: (query: Parameters<LocalAudit["list"]>[0]) => listHostAudit(load(), query),
      verify: (options: Parameters<LocalAudit["verify"]>[0]) => verifyHostAudit(load(), options),
    },
    runChecks: (onResult: Parameters<LocalCommands["runChecks"]>[0]) => runLocalChecks(load(), onResult),
  };
}
