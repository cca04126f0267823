import type { PluginPermissions } from "#domain/ports/plugins.ts";

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
