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
  version: Type.String({ description: "Empty where its manifest cannot be read." }),
  type: Choice(pluginTypes, "`command` where its manifest cannot be read."),
  enabled: Type.Boolean({ description: "Whether it may run." }),
  author: Type.String({ description: "Who wrote it, by its manifest." }),
  description: Type.String(),
  permissions: Type.Array(Type.String(), {
    description: "What it may do beyond its sandbox, in words: `runs as root`, `reaches the network`, `reads /srv`.",
  }),
  needs_confirmation: Type.Boolean({ description: "Whether enabling it takes `confirm: true`: it asks for root." }),
  path: Type.String({ description: "Its folder." }),
  fault: NullableString(
    "Why it cannot be loaded, or why an enabled one does not run, such as a change on disk; null where all is well.",
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
  exit_code: Type.Integer({ description: "As a shell counts: 128 and the signal's number where a signal ended it." }),
  stdout: Type.String({ description: "What it wrote to standard output." }),
  stderr: Type.String({ description: "What it wrote to standard error." }),
  duration_ms: Type.Integer(),
  truncated: Type.Boolean({ description: "Whether output beyond 1 MiB was dropped." }),
});
export type PluginRun = Static<typeof PluginRun>;

const PluginName = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64, description: "Name of the plugin.", examples: ["certificates"] }),
});

export const PluginInput = Options({
  confirm: Type.Boolean({ default: false, description: "Has to be true for a plugin that asks to run as root." }),
});

export const PluginRunInput = Options({
  args: Type.Array(Type.String({ maxLength: 4096, pattern: "^[^\\u0000]*$" }), {
    maxItems: 128,
    default: [],
    description: "Arguments, as they are.",
  }),
  stdin: Type.String({ maxLength: 262_144, description: "What it may read from standard input." }),
});

export const plugins = {
  listPlugins: {
    method: "GET",
    path: "/plugins",
    tag: "Plugins",
    summary: "All plugins",
    description: "Those that cannot be loaded are listed with their fault.",
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
    description: "As in the list, also where it cannot be loaded.",
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
      "As it is on disk now: a later change stops it until it is enabled again. Enabling it twice is one. One that cannot be loaded stays as it is, with `success: false`; so does one that asks to run as root and that root has not confirmed on the host (`steward plugins confirm`), where the service itself is not root.",
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
    description: "What of it runs is ended. Disabling it twice is one.",
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
    description: "In its sandbox, with these arguments; no shell reads them. It is ended when the client goes.",
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
