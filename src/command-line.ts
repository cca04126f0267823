import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { PluginReport } from "#cli/index.ts";
import type { Fault } from "#config/faults.ts";
import type { Config } from "#config/load.ts";
import type { FoundPlugin } from "#domain/ports/plugins.ts";

// Everything else is loaded on demand: a command that asks the service needs none of it, and its start is what a person waits for.

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};
const { env: environment } = process;

// What packagers and scripts ask most is answered at once.
if (process.argv.length === 3 && ["--version", "-V"].includes(process.argv[2] ?? "")) {
  await new Promise((resolve) => process.stdout.write(`${version}\n`, resolve));
  process.exit(0);
}
const { cleanIo, createPerson, ioOfProcess, NeedsDecision, readInput, runCli } = await import("#cli/index.ts");

const load = async (file: string | undefined) => {
  const { loadConfig } = await import("#config/load.ts");
  // Loaded on demand: few settings name a plugin.
  const builtInCheckIds = async () => (await import("#domain/health/registry.ts")).builtInCheckIds;
  return loadConfig({ file, environment, isRoot: process.getuid?.() === 0, builtInCheckIds });
};

/** What root does for a service without rights is said by settings that only root can change. */
async function requireSettingsOfRoot(): Promise<void> {
  const { configFile } = await import("#config/load.ts");
  const { requireRootSettings } = await import("#root/settings.ts");
  const file = configFile(undefined, environment);
  if (file !== undefined) requireRootSettings(file);
}

/** As `ps`, `top` and the check of the firewall show it: Node calls its first thread MainThread. */
function takeName(): void {
  try {
    writeFileSync("/proc/self/comm", "steward");
  } catch {
    // Where there is no such file, nobody reads the name from it either.
  }
}

/** Log lines to standard output, for programs that keep a log. */
async function openLogs() {
  const { isJournal, noticeMark, withPriorities } = await import("#telemetry/journal-output.ts");
  const { createLineWriter } = await import("#telemetry/line-writer.ts");
  const { createLogs } = await import("#telemetry/logger.ts");
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

/** Whether this process does no more than ask and print. */
let isClient = true;
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // Whoever reads the output has seen enough (`steward logs | head`).
    if (isClient && error.code === "EPIPE") process.exit(0);
    throw error;
  });
}

/** Root reads every file; what matters is whether the user of the installed service can. */
async function unreadableFaults({ settings, stateDir, faultAt }: Config): Promise<readonly Fault[]> {
  const { places } = await import("#root/places.ts");
  const owner = stateDir === places.stateDir ? statSync(stateDir, { throwIfNoEntry: false }) : undefined;
  if (process.getuid?.() !== 0 || owner === undefined || owner.uid === 0) return [];
  const { exec } = await import("#adapters/exec/index.ts");
  const { unreadableFiles } = await import("#app/readable-files.ts");
  const unreadable = await unreadableFiles(settings, { exec, uid: owner.uid, gid: owner.gid });
  return unreadable.map(({ path, file }) =>
    faultAt(path, `the service cannot read ${file} (chown root:steward ${file} && chmod 640 ${file})`),
  );
}

/** What the service would say of a plugin, and every fault of it. */
async function pluginReport(folder: string, { path, loaded }: FoundPlugin): Promise<PluginReport> {
  const { inspectPlugin } = await import("#adapters/plugins/index.ts");
  const { permissionWords } = await import("#domain/plugins/permissions.ts");
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
  io: ioOfProcess(process),
  now: () => Date.now(),
  person: createPerson(process),
  local: {
    async serve({ config: file, newAdminKey = false, safeMode = false }) {
      isClient = false;
      (await import("#app/starter.ts")).endWithStarter();
      takeName();
      const { logsOf } = await openLogs();
      const { SettingsFaulty } = await import("#config/faults.ts");
      const config = await load(file).catch((error: unknown) => {
        throw error instanceof SettingsFaulty ? new NeedsDecision(error.message, { cause: error }) : error;
      });
      const { serve } = await import("./app/serve.ts");
      const options = {
        version,
        logs: logsOf(config.logLevel),
        newAdminKey,
        isSafeMode: safeMode,
        reload: () => load(file),
        tell: cleanIo(ioOfProcess(process)).err,
      };
      const { KeyStoreLost } = await import("#adapters/keystore/index.ts");
      await serve(config, options).catch((error: unknown) => {
        throw error instanceof KeyStoreLost ? new NeedsDecision(error.message, { cause: error }) : error;
      });
    },
    async runTask(id, askedBy) {
      isClient = false;
      takeName();
      const taskOptions = async () => {
        const config = await load(undefined);
        const { logsOf, writeNotice: writeRecord } = await openLogs();
        const { log } = logsOf(config.logLevel);
        const { safeModeVariable } = await import("#app/operation-program.ts");
        return { config, writeRecord, options: { version, log, isSafeMode: environment[safeModeVariable] === "1" } };
      };
      if (askedBy === undefined) {
        const { config, options } = await taskOptions();
        return (await import("./app/operation.ts")).runOperation(id, config, options);
      }
      const { serveRequest } = await import("./root/serve-request.ts");
      return serveRequest({
        instance: id,
        user: askedBy,
        async prepare() {
          await requireSettingsOfRoot();
          return taskOptions();
        },
      });
    },
    async carryState() {
      isClient = false;
      await requireSettingsOfRoot();
      const config = await load(undefined);
      await (await import("#app/carry.ts")).carryServiceState(config);
    },
    async checkConfig(named) {
      const { configFile } = await import("#config/load.ts");
      const { formatFault, SettingsFaulty } = await import("#config/faults.ts");
      const file = configFile(named, environment);
      try {
        const config = await load(named);
        const { checkTlsFiles } = await import("#app/parts/tls.ts");
        const tls = await checkTlsFiles(config, Date.now());
        const { describeKeyStoreLoss } = await import("#adapters/keystore/index.ts");
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
    },
    async egress({ config: named, clients, allow }) {
      const { egressDropIn } = await import("#app/egress.ts");
      const { createNameServers } = await import("#adapters/resolver/index.ts");
      const { lookup } = await import("node:dns/promises");
      const { text, unresolved } = await egressDropIn(await load(named), {
        clients,
        allow,
        now: new Date(),
        nameServers: createNameServers().list,
        resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
      });
      const lines = unresolved.map(
        ({ purpose, host }) =>
          `cannot permit ${purpose}: ${host} could not be resolved (give its addresses with --allow)`,
      );
      return { text, unresolved: lines };
    },
    async localService() {
      const { readLocalSettings } = await import("#config/local-service.ts");
      const config = (await readLocalSettings(environment, process.getuid?.() === 0)) ?? (await load(undefined));
      const { localUrl } = await import("#config/address.ts");
      if (config.tls === "auto") {
        const { certName } = await import("#adapters/tls/files.ts");
        const certFile = join(config.stateDir, certName);
        if (existsSync(certFile)) {
          const { readTextFile } = await import("#adapters/files/index.ts");
          const { getCACertificates, setDefaultCACertificates } = await import("node:tls");
          // The local service signed its certificate itself, so this process has to be told to trust it.
          setDefaultCACertificates([...getCACertificates("default"), readTextFile(certFile, { followsLinks: false })]);
        }
      }
      const { socketPlaces } = await import("#config/socket-places.ts");
      const { adminKeyFile } = await import("#config/service-file.ts");
      return {
        url: localUrl(config),
        sockets: socketPlaces(config.stateDir, environment, process.getuid?.() === 0),
        adminKeyFile: join(config.stateDir, adminKeyFile),
        async readAdminKey(path, url) {
          const { readAdminKey } = await import("#app/admin-key.ts");
          return readAdminKey(path, url);
        },
      };
    },
    async checkPlugin(folder) {
      const { createPluginFolders } = await import("#adapters/plugins/index.ts");
      const folders = createPluginFolders({ dirs: [dirname(folder)], now: () => Date.now() });
      const found = await folders.read(folder);
      if (found === undefined) throw new Error(`cannot look at ${folder}: there is no such folder`);
      return pluginReport(folder, found);
    },
    async pluginConfirmation() {
      await requireSettingsOfRoot();
      const { createPluginConfirmation } = await import("#root/confirm-plugin.ts");
      return createPluginConfirmation(await load(undefined));
    },
    async stackHost(url) {
      const config = await load(undefined);
      const { stackHost } = await import("#app/stack.ts");
      return stackHost(config, url);
    },
    audit: {
      async list(query) {
        const { listHostAudit } = await import("#app/audit.ts");
        return listHostAudit(await load(undefined), query);
      },
      async verify(options) {
        const { verifyHostAudit } = await import("#app/audit.ts");
        return verifyHostAudit(await load(undefined), options);
      },
    },
    readInput: () => readInput(process.stdin),
    async runChecks(onResult) {
      const { runLocalChecks } = await import("#app/local-checks.ts");
      return runLocalChecks(await load(undefined), onResult);
    },
    async redact(text) {
      const { redact } = await import("#domain/common/redact.ts");
      return redact(text).text;
    },
  },
});
// What was printed is out before the process ends, however slowly it is read.
await new Promise((resolve) => process.stdout.write("", resolve));
process.exit(code);
