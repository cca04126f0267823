import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { Choice, NullableString, Options } from "./schema.ts";

/** `command`: run on request. `check`: a health check. `hook`: called before and after actions of the service. */
export const pluginTypes = ["command", "check", "hook"] as const;
export type PluginType = (typeof pluginTypes)[number];

/** Events of hooks; those with `pre_` can be vetoed. */
export const hookEvents = [
  "pre_check",
  "post_check",
  "pre_fix",
  "post_fix",
  "pre_update",
  "post_update",
  "pre_rollback",
  "post_rollback",
] as const;
export type HookEvent = (typeof hookEvents)[number];

export const pluginNamePattern = "^[a-z0-9][a-z0-9_-]{0,63}$";

export const Plugin = Type.Object({
  name: Type.String(),
  version: Type.String({ description: "Version; empty if the manifest cannot be read." }),
  type: Choice(pluginTypes, "Kind of plugin; `command` if the manifest cannot be read."),
  enabled: Type.Boolean({ description: "Whether the plugin is enabled." }),
  author: Type.String({ description: "Author, according to the manifest." }),
  description: Type.String(),
  permissions: Type.Array(Type.String(), {
    description:
      "Permissions beyond the default sandbox, as phrases: `runs as root`, `reaches the network`, `reads /srv`.",
  }),
  needs_confirmation: Type.Boolean({
    description: "Whether enabling it needs `confirm: true`, because it asks to run as root.",
  }),
  path: Type.String({ description: "Directory of the plugin." }),
  fault: NullableString(
    "Why it cannot be loaded, or why it does not run although it is enabled, such as a change on disk; null if there is no fault.",
  ),
});
export type Plugin = Static<typeof Plugin>;

export const PluginList = Type.Object({ plugins: Type.Array(Plugin) });
export type PluginList = Static<typeof PluginList>;

export const PluginChange = Type.Object({
  ...Plugin.properties,
  success: Type.Boolean(),
  message: Type.String(),
});
export type PluginChange = Static<typeof PluginChange>;

export const PluginRun = Type.Object({
  exit_code: Type.Integer({ description: "Exit code as in a shell: 128 plus the signal number if a signal ended it." }),
  stdout: Type.String({ description: "Standard output." }),
  stderr: Type.String({ description: "Standard error." }),
  duration_ms: Type.Integer(),
  truncated: Type.Boolean({ description: "Whether output was cut at 1 MiB." }),
});
export type PluginRun = Static<typeof PluginRun>;

const PluginName = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64, description: "Name of the plugin.", examples: ["certificates"] }),
});

export const PluginInput = Options({
  confirm: Type.Boolean({ default: false, description: "Must be true for a plugin that asks to run as root." }),
});

export const PluginRunInput = Options({
  args: Type.Array(Type.String({ maxLength: 4096, pattern: "^[^\\u0000]*$" }), {
    maxItems: 128,
    default: [],
    description: "Arguments, passed unchanged.",
  }),
  stdin: Type.String({ maxLength: 262_144, description: "Standard input of the command." }),
});

export const plugins = {
  listPlugins: {
    method: "GET",
    path: "/plugins",
    tag: "Plugins",
    summary: "All plugins",
    description: "Plugins that cannot be loaded are listed with their fault.",
    scope: "plugins:read",
    effect: "read",
    response: PluginList,
    errors: [],
  },
  getPlugin: {
    method: "GET",
    path: "/plugins/{name}",
    tag: "Plugins",
    summary: "One plugin",
    description: "As in the list, even if it cannot be loaded.",
    scope: "plugins:read",
    effect: "read",
    params: PluginName,
    response: Plugin,
    errors: ["NOT_FOUND"],
  },
  enablePlugin: {
    method: "POST",
    path: "/plugins/{name}/enable",
    tag: "Plugins",
    summary: "Enable a plugin",
    description:
      "Enables the files that are on disk now: if they change later, the plugin does not run until it is enabled again. Enabling it again has no further effect. A plugin that cannot be loaded is not enabled, and the answer has `success: false`. The same holds for a plugin that asks to run as root but was not confirmed by root on the host (`steward plugins confirm`), unless the service itself runs as root.",
    scope: "plugins:write",
    resource: ({ name = "" }) => name,
    effect: "danger",
    params: PluginName,
    query: DryRunQuery,
    body: PluginInput,
    response: PluginChange,
    errors: ["NOT_FOUND"],
  },
  disablePlugin: {
    method: "POST",
    path: "/plugins/{name}/disable",
    tag: "Plugins",
    summary: "Disable a plugin",
    description: "Ends its running processes. Disabling it again has no further effect.",
    scope: "plugins:write",
    resource: ({ name = "" }) => name,
    effect: "write",
    params: PluginName,
    query: DryRunQuery,
    response: PluginChange,
    errors: ["NOT_FOUND"],
  },
  runPlugin: {
    method: "POST",
    path: "/plugins/{name}/run",
    tag: "Plugins",
    summary: "Run a command plugin",
    description:
      "Runs it in its sandbox with these arguments, without a shell. The command is ended if the client disconnects.",
    scope: "plugins:run",
    resource: ({ name = "" }) => name,
    effect: "danger",
    takesLong: true,
    params: PluginName,
    query: DryRunQuery,
    body: PluginRunInput,
    response: PluginRun,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
