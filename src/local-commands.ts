import { lookup } from "node:dns/promises";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { lookHere } from "#adapters/exec/look.ts";
import { describeKeyStoreLoss } from "#adapters/keystore/index.ts";
import { createPluginDirectories, inspectPlugin } from "#adapters/plugins/index.ts";
import { createNameServers } from "#adapters/resolver/index.ts";
import { listHostAudit, verifyHostAudit } from "#app/audit.ts";
import { runLocalChecks } from "#app/checks.ts";
import { egressDropIn } from "#app/egress.ts";
import { checkTlsFiles } from "#app/parts/tls.ts";
import { createPluginConfirmation } from "#app/plugin-confirmation.ts";
import { stackHost } from "#app/stack.ts";
import type { LocalCommands, PluginReport } from "#cli/index.ts";
import { configFile, type Environment } from "#config/defaults.ts";
import { type Fault, formatFault, SettingsFaulty } from "#config/faults.ts";
import type { Config } from "#config/load.ts";
import type { Settings } from "#config/settings.ts";
import { permissionWords } from "#domain/plugins/confirmation.ts";
import type { FoundPlugin } from "#domain/ports/plugins.ts";
import { places } from "#root/places.ts";
import { loadRootSettings, loadSettings } from "./load-settings.ts";

interface NamedFile {
  readonly path: readonly string[];
  readonly file: string;
}

const tlsMembers: readonly string[] = ["cert", "key", "client_ca", "client_crl"];

export function filesOfSettings(settings: Settings): readonly NamedFile[] {
  const below = (value: unknown, path: readonly string[]): readonly NamedFile[] => {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
      const at = [...path, name];
      const isFile = name.endsWith("_file") || (path.join(".") === "tls" && tlsMembers.includes(name));
      return isFile && typeof member === "string" ? [{ path: at, file: member }] : below(member, at);
    });
  };
  return below(settings, []);
}

/** Files that a user cannot read, tested as that user, so that directories and ACLs count. @throws CommandFailed. */
export async function unreadableFiles(
  settings: Settings,
  { exec, uid, gid }: { readonly exec: Exec; readonly uid: number; readonly gid: number },
): Promise<readonly NamedFile[]> {
  const unreadable: NamedFile[] = [];
  for (const each of filesOfSettings(settings)) {
    const asUser = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--init-groups", "--"] as const;
    const { exitCode } = await exec([...asUser, "test", "-r", each.file]);
    if (exitCode !== 0) unreadable.push(each);
  }
  return unreadable;
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
function pluginReport(directory: string, { path, loaded }: FoundPlugin): PluginReport {
  if ("manifest" in loaded) {
    const { name, version, role, permissions } = loaded.manifest;
    return { path, faults: [], plugin: { name, version, type: role.type, permissions: permissionWords(permissions) } };
  }
  const all = inspectPlugin(directory);
  // A fault that was corrected between the two was one when it was loaded.
  const faults = all.length > 0 ? all : [loaded.fault];
  return { path, faults: faults.map((fault) => ({ text: fault.replace(/^(?=plugin\.yaml:)/, `${path}/`) })) };
}

async function checkPlugin(directory: string): Promise<PluginReport> {
  const directories = createPluginDirectories({ dirs: [dirname(directory)], now: () => Date.now(), look: lookHere });
  const found = await directories.read(directory);
  if (found === undefined) throw new Error(`cannot look at ${directory}: there is no such directory`);
  return pluginReport(directory, found);
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

/** What commands do in this process instead of asking the service. */
export function createLocalCommands({ environment }: { readonly environment: Environment }) {
  const load = (file?: string): Config => loadSettings(environment, file);

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

  return {
    checkConfig,
    egress: (options: EgressOptions) => egress(load(options.config), options),
    checkPlugin,
    pluginConfirmation: () => createPluginConfirmation(loadRootSettings(environment)),
    stackHost: (url: string | undefined) => stackHost(load(), url),
    audit: {
      list: (query: Parameters<LocalAudit["list"]>[0]) => listHostAudit(load(), query),
      verify: (options: Parameters<LocalAudit["verify"]>[0]) => verifyHostAudit(load(), options),
    },
    runChecks: (onResult: Parameters<LocalCommands["runChecks"]>[0]) => runLocalChecks(load(), onResult),
  };
}
