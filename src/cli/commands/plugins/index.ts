import { resolve } from "node:path";
import type { Answer } from "#client/index.ts";
import { answerCommand, changeCommand, valueCommand } from "../../core/answer-command.ts";
import { type Command, namedArgument } from "../../core/command.ts";
import type { CommandPorts } from "../../core/ports.ts";
import { type Io, oneLine } from "../../output/output.ts";
import { printFields } from "../../output/print.ts";
import { printTable } from "../../output/table.ts";
import { addPluginConfirmCommand } from "./confirm.ts";

function printPlugins(io: Io, { plugins }: Answer<"listPlugins">): void {
  printTable(io, plugins, {
    plugin: ({ name }) => name,
    version: ({ version }) => version,
    type: ({ type }) => type,
    state: ({ enabled }) => (enabled ? "enabled" : "disabled"),
    permissions: ({ permissions }) => permissions.join(", ") || "none",
    description: ({ description }) => description,
  });
  if (plugins.length === 0) io.out("no plugins\n");
  for (const { name, path, fault } of plugins) {
    if (fault !== null) io.out(`${oneLine(name)} (${oneLine(path)}): ${oneLine(fault)}\n`);
  }
}

function addPluginList(plugins: Command, ports: CommandPorts): void {
  const list = plugins
    .presetCommand("list")
    .description("all plugins, and what is wrong with those that do not run")
    .notes("Exit code: 0 all well, 1 an enabled plugin does not run, 2 the service could not be asked.");
  answerCommand(ports, list, {
    ask: (client) => client.listPlugins(),
    isTrouble: (answer) => answer.plugins.some(({ enabled, fault }) => enabled && fault !== null),
    print: printPlugins,
  });
}

function addPluginShow(plugins: Command, ports: CommandPorts): void {
  const show = plugins
    .command("show")
    .description("one plugin, and what is wrong with it")
    .addArgument(namedArgument("<name>", "name of the plugin", "plugin"))
    .notes("Exit code: 0 all well, 1 it is enabled and does not run, 2 the service could not be asked.");
  answerCommand(ports, show, {
    ask: (client, name: string) => client.getPlugin({ params: { name } }),
    isTrouble: ({ enabled, fault }) => enabled && fault !== null,
    print: printFields,
  });
}

function printChange(io: Io, { name, message, success, enabled, fault, permissions }: Answer<"enablePlugin">): void {
  io.out(`${oneLine(name)}: ${oneLine(message)}\n`);
  if (!success && fault !== null) io.out(`${oneLine(fault)}\n`);
  if (success && enabled && permissions.length > 0)
    io.out(`permissions beyond its sandbox: ${oneLine(permissions.join(", "))}\n`);
}

function addPluginChanges(plugins: Command, ports: CommandPorts): void {
  const shown = { isTrouble: ({ success }: { success: boolean }) => !success, print: printChange };
  const enable = plugins
    .command("enable")
    .description("enable a plugin, as it is on disk now: shows what would be done, and asks")
    .addArgument(namedArgument("<name>", "name of the plugin", "plugin"))
    .option("--confirm", "yes, this plugin may run as root")
    .notes("A plugin that changes on disk does not run until it is enabled again.");
  changeCommand(ports, enable, {
    ...shown,
    change: (client, query, name: string, { confirm = false }: { confirm?: boolean }) =>
      client.enablePlugin({ params: { name }, query, body: { confirm } }),
    // One that is enabled already or cannot be has no steps; the answer says so.
    question: ({ steps }, name: string) => (steps.length === 0 ? undefined : `Enable the plugin ${oneLine(name)}?`),
  });
  const disable = plugins
    .command("disable")
    .description("disable a plugin, and stop it where it runs")
    .addArgument(namedArgument("<name>", "name of the plugin", "plugin"));
  changeCommand(ports, disable, {
    ...shown,
    change: (client, query, name: string) => client.disablePlugin({ params: { name }, query }),
  });
}

function addValidateCommand(plugins: Command, ports: CommandPorts): void {
  const validate = plugins
    .command("validate")
    .description("check a plugin directory without the service, and print every fault")
    .argument("[dir]", "the folder that plugin.yaml is in", ".")
    .notes(`What the service would refuse is a fault here: of the manifest with line and column, of the files, their owners and modes.
It goes by who calls: a plugin for a service that runs as root has to be owned by root, so try that as root.

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

export function addPluginsCommands(program: Command, ports: CommandPorts): void {
  const plugins = program.command("plugins").description("list, enable, disable, confirm and check plugins");
  addPluginList(plugins, ports);
  addPluginShow(plugins, ports);
  addPluginChanges(plugins, ports);
  addPluginConfirmCommand(plugins, ports);
  addValidateCommand(plugins, ports);
}
