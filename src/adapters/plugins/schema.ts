import { type Static, type TProperties, Type } from "typebox";
import { severities } from "#contract/checks.ts";
import { hookEvents, pluginNamePattern, pluginTypes } from "#contract/plugins.ts";
import { Choice } from "#contract/schema.ts";

const strict = { additionalProperties: false } as const;
/** One line that a terminal can show as it is, read in the order in which it is written. */
const text = (maxLength: number, description: string) =>
  Type.String({
    maxLength,
    pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$",
    description,
  });
const duration = (description: string) =>
  Type.String({ pattern: "^[1-9][0-9]{0,8}[smhd]$", description, examples: ["30s"] });
/** Characters that mean nothing to anyone who reads a list of paths, without `.` and `..` as names. */
const path = Type.String({
  maxLength: 1024,
  pattern: "^(/(?!\\.\\.?(/|$))[A-Za-z0-9._@+,~-]+)+$",
  description: "An absolute path.",
  examples: ["/srv/data"],
});

const paths = (description: string) => Type.Optional(Type.Array(path, { maxItems: 32, description }));
const section = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Optional(Type.Object(properties, { ...strict, description }));

export const ManifestFile = Type.Object(
  {
    name: Type.String({
      pattern: pluginNamePattern,
      description: "What it is called; of a check also the id of the check.",
      examples: ["backup-age"],
    }),
    version: Type.String({ minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9.+:~_-]+$", examples: ["1.0.2"] }),
    type: Choice(pluginTypes, "`command`: run when it is called. `check`: a health check. `hook`: called on events."),
    author: Type.Optional(text(256, "Who made it.")),
    description: Type.Optional(text(1024, "What it does, in a sentence.")),
    exec: Type.String({
      maxLength: 512,
      pattern: "^(\\./)?(?!\\.\\.?(/|$))[A-Za-z0-9._+-]+(/(?!\\.\\.?(/|$))[A-Za-z0-9._+-]+)*$",
      description: "The program: a file in the directory of the plugin, in any language.",
      examples: ["./check.sh"],
    }),
    args: Type.Optional(
      Type.Array(Type.String({ maxLength: 4096, pattern: "^[^\\u0000]*$" }), {
        maxItems: 128,
        description: "Arguments that always come first. No shell reads them.",
      }),
    ),
    timeout: Type.Optional(duration("How long it may run: `30s` unless given, an hour at most.")),
    permissions: section("What it asks for beyond its sandbox.", {
      user: Type.Optional(Choice(["root"], "Without it, it runs as a user of its own that exists only while it runs.")),
      network: Type.Optional(
        Choice(["none", "local", "full"], "`none` unless given: not even loopback. `local`: loopback alone."),
      ),
      read: paths(
        "Paths that it may read regardless of their owner. Of the rest of the host it then sees the programs alone.",
      ),
      write: paths("Paths that it may change regardless of their owner."),
      memory: Type.Optional(
        Type.String({
          pattern: "^[1-9][0-9]{0,8}[KMG]$",
          description: "`256M` unless given; 16M to 64G.",
          examples: ["256M"],
        }),
      ),
      tasks: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 4096, description: "Processes and threads at a time; 64 unless given." }),
      ),
    }),
    check: section("Of a plugin of type check.", {
      title: Type.Optional(text(128, "Display name; the name of the plugin unless given.")),
      severity: Type.Optional(Choice(severities, "How bad it is when it fails; `medium` unless given.")),
      interval: Type.Optional(duration("How often it runs, 7 days at most.")),
      output: Type.Optional(
        Choice(["nagios", "json"], "How its output is read: the plugin interface of Nagios, or one JSON object."),
      ),
      guards_updates: Type.Optional(
        Type.Boolean({ description: "Whether a guarded update is rolled back when it gets worse; not by default." }),
      ),
    }),
    hook: section("Of a plugin of type hook.", {
      events: Type.Array(Choice(hookEvents, "What it is called for; what begins with `pre_` it may veto."), {
        minItems: 1,
        uniqueItems: true,
      }),
      on_failure: Type.Optional(
        Choice(["allow", "veto"], "What a `pre_` event comes to when the hook itself fails; `allow` unless given."),
      ),
    }),
    command: section("Of a plugin of type command.", {
      usage: Type.Optional(text(256, "Its arguments, for people: `[--all] HOST`.")),
    }),
  },
  { ...strict, title: "Steward plugin manifest" },
);
export type ManifestFile = Static<typeof ManifestFile>;
