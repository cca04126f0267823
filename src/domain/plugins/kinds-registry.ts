import type { PluginType } from "#contract/plugins.ts";
import type { PluginKind } from "./plugin-kind.ts";
import { checkKind } from "./types/check.ts";
import { commandKind } from "./types/command.ts";
import { hookKind } from "./types/hook.ts";

export const pluginKinds: { readonly [T in PluginType]: PluginKind<T> } = {
  command: commandKind,
  check: checkKind,
  hook: hookKind,
};
