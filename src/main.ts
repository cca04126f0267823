import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createPluginFolders, inspectPlugin } from "#adapters/plugins/index.ts";
import { certName } from "#adapters/tls/files.ts";
import { type PluginReport, readInput, runCli } from "#cli/index.ts";
import { localUrl } from "#config/address.ts";
import { formatFault, SettingsFaulty } from "#config/faults.ts";
import { configFile, loadConfig } from "#config/load.ts";
import { permissionWords } from "#domain/plugins/permissions.ts";
import type { FoundPlugin } from "#domain/plugins/ports.ts";
import { safeModeVariable } from "#host/task-program.ts";
import { isJournal, withPriorities } from "#telemetry/journal-output.ts";
import { createLineWriter } from "#telemetry/line-writer.ts";
import { createLogs } from "#telemetry/logger.ts";
import { adminKeyFile, serve } from "./serve.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};
const { env: environment } = process;

const writer = createLineWriter(process.stdout.fd);
// Whatever ends the process, its last lines are out first.
process.on("exit", writer.flush);
const logWriter = isJournal(process.stdout.fd, environment) ? withPriorities(writer) : writer;

const load = (file: string | undefined) => loadConfig({ file, environment, isRoot: process.getuid?.() === 0 });

/** What the service would say of a plugin, and every fault of it. */
function pluginReport(folder: string, { path, loaded }: FoundPlugin): PluginReport {
  if ("manifest" in loaded) {
    const { name, version, role, permissions } = loaded.manifest;
    return { path, faults: [], plugin: { name, version, type: role.type, permissions: permissionWords(permissions) } };
  }
  const all = inspectPlugin(folder);
  // What has been mended between the two was a fault when it was loaded.
  const faults = all.length > 0 ? all : [loaded.fault];
  return { path, faults: faults.map((fault) => ({ text: fault.replace(/^(?=plugin\.yaml:)/, `${path}/`) })) };
}

const code = await runCli({
  argv: process.argv.slice(2),
  environment,
  version,
  io: {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  },
  now: () => Date.now(),
  local: {
    async serve({ config: file, newAdminKey = false, safeMode = false }) {
      const config = await load(file);
      await serve(config, {
        version,
        logs: createLogs({ level: config.logLevel, writer: logWriter }),
        newAdminKey,
        isSafeMode: safeMode,
        reload: () => load(file),
      });
    },
    async runTask(id) {
      const config = await load(undefined);
      const { log } = createLogs({ level: config.logLevel, writer: logWriter });
      // Loaded on demand: the service and the other commands have no use for it.
      const { runOperation } = await import("./task.ts");
      return runOperation(id, config, { version, log, isSafeMode: environment[safeModeVariable] === "1" });
    },
    async checkConfig(named) {
      const file = configFile(named, environment);
      try {
        const { warnings } = await load(named);
        return { file, faults: [], warnings };
      } catch (error) {
        if (!(error instanceof SettingsFaulty)) throw error;
        return { file, faults: error.faults.map((fault) => ({ ...fault, text: formatFault(fault) })), warnings: [] };
      }
    },
    async localService() {
      const config = await load(undefined);
      const certFile = join(config.stateDir, certName);
      if (config.tls === "auto" && existsSync(certFile)) {
        // The local service signed its certificate itself, so this process has to be told to trust it.
        setDefaultCACertificates([...getCACertificates("default"), readFileSync(certFile, "utf8")]);
      }
      return { url: localUrl(config), adminKeyFile: join(config.stateDir, adminKeyFile) };
    },
    async checkPlugin(folder) {
      const folders = createPluginFolders({ dirs: [dirname(folder)], now: () => Date.now() });
      const found = await folders.read(folder);
      if (found === undefined) throw new Error(`cannot look at ${folder}: there is no such folder`);
      return pluginReport(folder, found);
    },
    async stackHost(url) {
      const config = await load(undefined);
      // Loaded on demand: no other command has use for it.
      const { stackHost } = await import("#host/stack.ts");
      return stackHost(config, url);
    },
    readInput: () => readInput(process.stdin),
  },
});
// What was printed is out before the process ends, however slowly it is read.
await new Promise((resolve) => process.stdout.write("", resolve));
process.exit(code);
