import type { ConfirmedPlugins, PluginCall, PluginManifest, PluginSandbox } from "#domain/ports/plugins.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";

/**
 * Why a plugin does not run that asks for root, where root keeps a list of its own of those that may.
 * @param confirmed undefined where this process is root itself: then to enable a plugin is to confirm it.
 */
export function confirmationFault(
  { name, permissions }: Pick<PluginManifest, "name" | "permissions">,
  found: Pick<PluginCall, "path" | "digest">,
  confirmed: ConfirmedPlugins | undefined,
): string | undefined {
  if (permissions.user !== "root" || confirmed === undefined || confirmed.has(found)) return undefined;
  return `it asks to run as root, and root has not confirmed it as it is now (run on this host: sudo steward plugins confirm ${name})`;
}

/** It asks to run as root, and root has not confirmed it. */
export class PluginUnconfirmed extends PluginNotRun {}

/** A sandbox in which nothing runs as root that root has not confirmed. */
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
