import { resolve } from "node:path";
import type { Answer } from "#client/index.ts";
import { valueCommand } from "../../core/answer-command.ts";
import type { Command } from "../../core/command.ts";
import { changingCommand, commandGroup, listCommand, showCommand } from "../../core/operation-command.ts";
import type { CommandPorts } from "../../core/ports.ts";
import { type Io, oneLine } from "../../output/output.ts";
import { addPluginConfirmCommand } from "./confirm.ts";

const isBroken = ({ enabled, fault }: Pick<Answer<"getPlugin">, "enabled" | "fault">): boolean =>
  enabled && fault !== null;

const listPlugins = listCommand("listPlugins", "list", {
  about: "all plugins, and what is wrong with those that do not run",
  notes: "Exit code: 0 all healthy, 1 an enabled plugin does not run, 2 the service could not be asked.",
  isTrouble: ({ plugins }) => plugins.some(isBroken),
  rows: "plugins",
  columns: {
    plugin: "name",
    version: "version",
    type: "type",
    state: ({ enabled }) => (enabled ? "enabled" : "disabled"),
    permissions: ({ permissions }) => permissions.join(", ") || "none",
    description: "description",
  },
  empty: "no plugins",
  below(io, { plugins }) {
    for (const { name, path, fault } of plugins)
      if (fault !== null) io.out(`${oneLine(name)} (${oneLine(path)}): ${oneLine(fault)}\n`);
  },
});

function printChange(io: Io, { name, message, success, enabled, fault, permissions }: Answer<"enablePlugin">): void {
  io.out(`${oneLine(name)}: ${oneLine(message)}\n`);
  if (!success && fault !== null) io.out(`${oneLine(fault)}\n`);
  if (success && enabled && permissions.length > 0)
    io.out(`permissions beyond its sandbox: ${oneLine(permissions.join(", "))}\n`);
}

function addValidateCommand(plugins: Command, ports: CommandPorts): void {
  const validate = plugins
    .command("validate")
    .description("check a plugin directory without the service, and print every fault")
    .argument("[dir]", "the directory that plugin.yaml is in", ".")
    .notes(`What the service would refuse is a fault here: of the manifest with line and column, of the files, their owners and modes.
It goes by who calls: a plugin for a service that runs as root must be owned by root, so try that as root.

Exit code: 0 no fault, 1 faults, 2 the directory could not be read.`);
  valueCommand(ports, validate, {
    json: "print the report as JSON",
    make: (dir: string) => ports.local.checkPlugin(resolve(dir)),
    isTrouble: ({ faults }) => faults.length > 0,
    print(io, { faults, plugin }) {
      for (const { text } of faults) io.out(`${oneLine(text)}\n`);
      if (plugin === undefined || faults.length > 0) return;
      const { name, version, type, permissions } = plugin;
      io.out(`${oneLine(`${name} ${version} (${type})`)}: no fault\n`);
      io.out(`permissions beyond its sandbox: ${oneLine(permissions.join(", ") || "none")}\n`);
    },
  });
}

const name = { as: "<name>", about: "name of the plugin", names: "plugin" } as const;
const shown = { isTrouble: ({ success }: { success: boolean }) => !success, print: printChange };

export const addPluginsCommands = commandGroup(
  { name: "plugins", about: "list, enable, disable, confirm and check plugins", preset: "list" },
  [
    listPlugins,
    showCommand("getPlugin", "show", {
      about: "one plugin, and what is wrong with it",
      notes: "Exit code: 0 all healthy, 1 it is enabled and does not run, 2 the service could not be asked.",
      words: { name },
      isTrouble: isBroken,
    }),
    changingCommand("enablePlugin", "enable", {
      ...shown,
      about: "enable a plugin, as it is on disk now: shows what would be done, and asks",
      notes: "A plugin that changes on disk does not run until it is enabled again.",
      words: { name, confirm: { as: "--confirm", about: "yes, this plugin may run as root" } },
      // One that is enabled already or cannot be has no steps; the answer says so.
      question: ({ steps }, given) =>
        steps.length === 0 ? undefined : `Enable the plugin ${oneLine(given.name ?? "")}?`,
    }),
    changingCommand("disablePlugin", "disable", {
      ...shown,
      about: "disable a plugin, and stop it where it runs",
      words: { name },
    }),
    addPluginConfirmCommand,
    addValidateCommand,
  ],
);
