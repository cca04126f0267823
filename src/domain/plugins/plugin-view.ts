import type { Plugin, PluginType } from "#contract/plugins.ts";
import type { ConfirmedPlugins, EnabledPlugin, FoundPlugin } from "#domain/ports/plugins.ts";
import { confirmationFault, permissionWords } from "./confirmation.ts";
import { changedFault, goneFault } from "./guarded-run.ts";
import { pluginKinds } from "./kinds.ts";
import type { ExtensionPoints } from "./plugin-kind.ts";

export interface PluginRules {
  readonly points: ExtensionPoints;
  readonly isSafeMode: boolean;
  readonly confirmed?: ConfirmedPlugins | undefined;
}

const safeModeFault = "safe mode: the service was started without plugins";

export function ownFault({ points, isSafeMode }: PluginRules, { loaded }: FoundPlugin): string | undefined {
  if ("fault" in loaded) return loaded.fault;
  const { manifest } = loaded;
  return pluginKinds[manifest.role.type].faultOf(manifest, points) ?? (isSafeMode ? safeModeFault : undefined);
}

export function enabledFault(
  rules: PluginRules,
  found: FoundPlugin | undefined,
  enabled: EnabledPlugin,
): string | undefined {
  if (found === undefined) return goneFault;
  const fault = ownFault(rules, found);
  if (fault !== undefined) return fault;
  if (found.path !== enabled.path)
    return `it was enabled from ${enabled.path}, and now another directory comes first: enable it again to accept that`;
  if ("fault" in found.loaded) return undefined;
  const { manifest, digest } = found.loaded;
  if (digest !== enabled.digest) return changedFault;
  return confirmationFault(manifest, { path: found.path, digest }, rules.confirmed);
}

const unreadablePlugin = (name: string, path: string, type: PluginType = "command") => ({
  name,
  version: "",
  type,
  author: "",
  description: "",
  permissions: [],
  needs_confirmation: false,
  path,
});

/** The listing of a plugin; `found` is undefined when its directory is gone, `type` what it was in use as. */
export function pluginView(
  rules: PluginRules,
  name: string,
  found: FoundPlugin | undefined,
  enabled: EnabledPlugin | undefined,
  type: PluginType | undefined,
): Plugin {
  const isEnabled = enabled !== undefined;
  if (found === undefined)
    return { ...unreadablePlugin(name, enabled?.path ?? "", type), enabled: isEnabled, fault: goneFault };
  const { path, loaded } = found;
  const fault = (isEnabled ? enabledFault(rules, found, enabled) : ownFault(rules, found)) ?? null;
  if ("fault" in loaded) return { ...unreadablePlugin(name, path, loaded.type ?? type), enabled: isEnabled, fault };
  const { version, role, author, description, permissions } = loaded.manifest;
  return {
    name,
    version,
    type: role.type,
    author,
    description,
    permissions: [...permissionWords(permissions)],
    needs_confirmation: permissions.user === "root",
    path,
    enabled: isEnabled,
    fault,
  };
}
