import type { ConfirmedPlugins, PluginCall, PluginManifest, PluginSandbox } from "#domain/ports/plugins.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";

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
