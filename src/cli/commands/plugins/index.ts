import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Answer, Client } from "#client/index.ts";
import { type Plugin, type PluginType, pluginTypes } from "#contract/plugins.ts";
import { answerCommand } from "../../core/answer-command.ts";
import { asPlan, ioOfPlan, isWanted, printPlan } from "../../core/plan.ts";
import type { CommandPorts } from "../../core/ports.ts";
import { presetCommand } from "../../core/preset-command.ts";
import { exitCode, type Io, oneLine, printJson } from "../../output/output.ts";
import { printTable } from "../../output/table.ts";
import { addPluginConfirmCommand } from "./confirm.ts";
import { makePlugin, type PluginLanguage, pluginLanguages } from "./scaffold.ts";

function printPlugins(io: Io, { plugins }: Answer<"listPlugins">): void {
  printTable(
    io,
    ["plugin", "version", "type", "state", "beyond its sandbox", "description"],
    plugins.map((plugin) => {
      const { name, version, type, enabled, permissions, description } = plugin;
      const state = enabled ? "enabled" : "disabled";
      return [name, version, type, state, permissions.join(", ") || "nothing", description];
    }),
  );
  for (const { name, path, fault } of plugins) {
    if (fault !== null) io.out(`${oneLine(name)} (${oneLine(path)}): ${oneLine(fault)}\n`);
  }
}

function addPluginList(plugins: Command, ports: CommandPorts): void {
  const list = presetCommand(plugins, "list")
    .description("all plugins, and what is wrong with those that do not run")
    .addHelpText(
      "after",
      "\nExit code: 0 all well, 1 an enabled plugin does not run, 2 the service could not be asked.",
    );
  answerCommand(ports, list, {
    ask: (client) => client.listPlugins(),
    isTrouble: (answer) => answer.plugins.some(({ enabled, fault }) => enabled && fault !== null),
    print: printPlugins,
  });
}

interface ChangeOptions {
  readonly yes?: boolean;
  readonly confirm?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Whether a plugin is to be enabled: what would be done is shown, and asked about where it is anything. */
async function isToBeEnabled(ports: CommandPorts, service: Client, name: string, options: ChangeOptions) {
  if (options.yes) return true;
  const body = { confirm: options.confirm ?? false };
  const plan = asPlan(await service.enablePlugin({ params: { name }, query: { dry_run: true }, body }));
  // It is enabled already or cannot be; the answer says so.
  if (plan.steps.length === 0) return true;
  printPlan(ioOfPlan(ports, options), plan);
  return isWanted(ports, `Enable the plugin ${oneLine(name)}?`, options);
}

function addPluginChanges(plugins: Command, ports: CommandPorts): void {
  const { io, finish, connect } = ports;
  const report = (answer: Plugin & { success: boolean; message: string }, { dryRun, json }: ChangeOptions) => {
    // A plan has no success of its own.
    if (dryRun) return json ? printJson(io, answer) : printPlan(io, asPlan(answer));
    finish(answer.success ? exitCode.fine : exitCode.foundTrouble);
    if (json) return printJson(io, answer);
    io.out(`${oneLine(answer.name)}: ${oneLine(answer.message)}\n`);
    if (!answer.success && answer.fault !== null) io.out(`${oneLine(answer.fault)}\n`);
    if (answer.success && answer.enabled && answer.permissions.length > 0) {
      io.out(`beyond its sandbox it ${oneLine(answer.permissions.join(", "))}\n`);
    }
  };

  plugins
    .command("enable")
    .description("let a plugin run, as it is on disk now: shows what would be done, and asks")
    .argument("<name>", "name of the plugin")
    .option("--confirm", "yes, this plugin may run as root")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("-y, --yes", "do not ask")
    .option("--json", "print the answer as JSON")
    .addHelpText("after", "\nOne that changes on disk stands still until it is enabled again.")
    .action(async (name: string, options: ChangeOptions, command: Command) => {
      const { client: service } = await connect(command);
      if (!options.dryRun && !(await isToBeEnabled(ports, service, name, options)))
        return finish(exitCode.foundTrouble);
      const query = { dry_run: options.dryRun ?? false };
      const body = { confirm: options.confirm ?? false };
      report(await service.enablePlugin({ params: { name }, query, body }), options);
    });

  plugins
    .command("disable")
    .description("do not let a plugin run, and end what of it runs")
    .argument("<name>", "name of the plugin")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("--json", "print the answer as JSON")
    .action(async (name: string, options: ChangeOptions, command: Command) => {
      const query = { dry_run: options.dryRun ?? false };
      report(await (await connect(command)).client.disablePlugin({ params: { name }, query }), options);
    });
}

function addValidateCommand(plugins: Command, { io, finish, local }: CommandPorts): void {
  plugins
    .command("validate")
    .description("print every fault of a plugin folder, without the service")
    .argument("[dir]", "the folder that plugin.yaml is in", ".")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      `
What the service would refuse is a fault here: of the manifest with line and column, of the files, their owners and modes.
It goes by who calls: a plugin for a service that runs as root has to be owned by root, so try that as root.

Exit code: 0 no fault, 1 faults, 2 the folder could not be looked at.`,
    )
    .action(async (dir: string, options: { json?: boolean }) => {
      const report = await local.checkPlugin(resolve(dir));
      const { faults, plugin } = report;
      finish(faults.length === 0 ? exitCode.fine : exitCode.foundTrouble);
      if (options.json) return printJson(io, report);
      for (const { text } of faults) io.out(`${oneLine(text)}\n`);
      if (plugin === undefined || faults.length > 0) return;
      const { name, version, type, permissions } = plugin;
      io.out(`${oneLine(`${name} ${version} (${type})`)}: no fault\n`);
      io.out(`beyond its sandbox it ${oneLine(permissions.join(", ") || "does nothing")}\n`);
    });
}

interface NewOptions {
  readonly type: PluginType;
  readonly lang: PluginLanguage;
  readonly dir: string;
  readonly author?: string;
}

const required = (option: Option): Option => option.makeOptionMandatory();

function author(text: string): string {
  if (text.trim() !== "" && text.length <= 100 && oneLine(text) === text.trim()) return text.trim();
  throw new InvalidArgumentError("it must be one line of 100 characters at most");
}

function addNewCommand(plugins: Command, { io, environment }: CommandPorts, taken: () => readonly string[]): void {
  plugins
    .command("new")
    .description("make a plugin that works, with its test, to go on from")
    .argument("<name>", "its name: lower case letters, digits, _ and -")
    .addOption(required(new Option("--type <type>", "what it is").choices(pluginTypes)))
    .addOption(required(new Option("--lang <language>", "what it is written in").choices(pluginLanguages)))
    .option("--dir <dir>", "folder in which its folder is made", ".")
    .option("--author <name>", "who writes it (the user who calls, when left out)", author)
    .addHelpText(
      "after",
      `
  check    becomes a health check: one line and an exit code as monitoring plugins have them
  command  is run with its arguments: steward <name> [argument...]
  hook     is called before and after checks, fixes, updates and rollbacks; before them it may say no

Nothing that is there is written over.`,
    )
    .action((name: string, { type, lang: language, dir, author: given }: NewOptions, command: Command) => {
      if (type === "command" && taken().includes(name)) {
        command.error(`error: steward has a command ${name} itself, so a plugin of this name could not be called`);
      }
      const { path, files, runTest } = makePlugin({
        name,
        type,
        language,
        author: given ?? environment["USER"] ?? "unknown",
        parent: resolve(dir),
      });
      io.out(`${oneLine(path)}: ${files.join(", ")}\n`);
      io.out(
        `test it there: ${runTest}\nsee what the service would say of it: steward plugins validate ${oneLine(path)}\n`,
      );
    });
}

/** `steward plugins [list]|enable|disable|confirm|validate|new`. */
export function addPluginsCommands(program: Command, ports: CommandPorts): void {
  const plugins = program.command("plugins").description("list, enable, disable, confirm, check and make plugins");
  addPluginList(plugins, ports);
  addPluginChanges(plugins, ports);
  addPluginConfirmCommand(plugins, ports);
  addValidateCommand(plugins, ports);
  addNewCommand(plugins, ports, () => ["help", ...program.commands.map((command) => command.name())]);
}
