import {
  type ConfirmedPlugins,
  type PluginCall,
  type PluginManifest,
  PluginNotRun,
  type PluginPermissions,
  type PluginSandbox,
} from "#domain/ports/plugins.ts";

/** Why a plugin that asks for root is not run. @param confirmed undefined where this process is root: then enabling confirms it. */
export function confirmationFault(
  { name, permissions }: Pick<PluginManifest, "name" | "permissions">,
  found: Pick<PluginCall, "path" | "digest">,
  confirmed: ConfirmedPlugins | undefined,
): string | undefined {
  if (permissions.user !== "root" || confirmed === undefined || confirmed.has(found)) return undefined;
  return `it asks to run as root, and root has not confirmed it as it is now (run on this host: sudo steward plugins confirm ${name})`;
}

export class PluginUnconfirmed extends PluginNotRun {}

/** Runs as root only what root has confirmed. */
export function confirmedSandbox(sandbox: PluginSandbox, confirmed: ConfirmedPlugins): PluginSandbox {
  const requireConfirmed = (call: PluginCall): void => {
    const fault = confirmationFault(call.manifest, call, confirmed);
    if (fault !== undefined) throw new PluginUnconfirmed(fault);
  };
  return {
    description: sandbox.description,
    async run(call, signal) {
      requireConfirmed(call);
      return sandbox.run(call, signal);
    },
    async tryStart(call, signal) {
      requireConfirmed(call);
      return sandbox.tryStart(call, signal);
    },
  };
}

/** Limits of plugins that ask for nothing else. */
const usualMemoryBytes = 256 * 1024 ** 2;
const usualTasks = 64;

const networks = {
  none: [],
  local: ["reaches services on this machine"],
  full: ["reaches the network"],
} as const;

/** The permissions beyond the sandbox, for people. */
export function permissionWords(permissions: PluginPermissions): readonly string[] {
  const { user, network, read, write, memoryBytes, tasks } = permissions;
  return [
    ...(user === "root" ? ["runs as root"] : []),
    ...networks[network],
    ...read.map((path) => `reads ${path}`),
    ...write.map((path) => `changes ${path}`),
    ...(memoryBytes > usualMemoryBytes ? [`uses up to ${Math.round(memoryBytes / 1024 ** 2)} MiB of memory`] : []),
    ...(tasks > usualTasks ? [`starts up to ${tasks} processes`] : []),
  ];
}
