import { type Command, namedArgument } from "../../core/command.ts";
import { ioOfPlan, isWanted } from "../../core/plan.ts";
import type { CommandPorts, Confirmed, PluginConfirmation } from "../../core/ports.ts";
import { exitCode, type Io, oneLine, printJson } from "../../output/output.ts";
import { printTable } from "../../output/table.ts";
import { formatTime } from "../../output/text.ts";

interface Options {
  readonly revoke?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

function printList(io: Io, all: readonly Confirmed[]): void {
  printTable(io, all, {
    plugin: ({ name }) => name,
    version: ({ version }) => version,
    confirmed: ({ confirmedAt }) => formatTime(new Date(confirmedAt).toISOString()),
    directory: ({ path }) => path,
    digest: ({ digest }) => digest.slice(0, 12),
  });
  if (all.length === 0) io.out("no plugin may run as root\n");
}

function revoke({ io, finish }: CommandPorts, list: PluginConfirmation, name: string, { json }: Options) {
  const paths = list.revoke(name);
  finish(paths.length > 0 ? exitCode.fine : exitCode.foundTrouble);
  if (json) return printJson(io, { name, revoked: paths });
  if (paths.length === 0) io.out(`${oneLine(name)}: was not confirmed\n`);
  for (const path of paths) io.out(`${oneLine(name)}: ${oneLine(path)} may no longer run as root\n`);
}

async function confirm(ports: CommandPorts, list: PluginConfirmation, name: string, options: Options): Promise<void> {
  const { io, finish } = ports;
  const plugin = await list.find(name);
  const { version, path, digest, permissions, needsRoot, isConfirmed } = plugin;
  const report = (changed: boolean, message: string): void => {
    if (options.json) printJson(io, { name, version, path, digest, changed, message });
    else io.out(`${oneLine(name)}: ${message}\n`);
  };
  if (!needsRoot) return report(false, "it does not ask to run as root, so nothing needs to be confirmed");
  if (isConfirmed) return report(false, "it is confirmed already");
  const shown = ioOfPlan(ports, options);
  shown.out(`  ${oneLine(`${name} ${version}`)} in ${oneLine(path)}\n  digest ${digest}\n`);
  shown.out(`  permissions beyond its sandbox: ${oneLine(permissions.join(", "))}\n`);
  if (!(await isWanted(ports, `May ${oneLine(name)} run as root, as it is now?`, options)))
    return finish(exitCode.foundTrouble);
  list.confirm(plugin);
  report(true, `it may run as root as it is now (to enable it: steward plugins enable ${oneLine(name)} --confirm)`);
}

export function addPluginConfirmCommand(plugins: Command, ports: CommandPorts): void {
  plugins
    .command("confirm")
    .description("as root, on this host: say which plugins may run as root, or list them")
    .addArgument(
      namedArgument("[name]", "name of the plugin; all that are confirmed are listed when left out", "plugin"),
    )
    .option("--revoke", "it may no longer run as root")
    .yes()
    .json()
    .notes(`The service, and anyone who has a key for it, can enable and disable plugins. One that asks for root runs only when root has
confirmed it besides, as it is on disk now, on the host itself.

Exit code: 0 done, 1 you said no, or it was not confirmed, 2 it could not be done.`)
    .action(async (name: string | undefined, options: Options, command: Command) => {
      if (name === undefined && options.revoke) command.error("error: name the plugin that is to be revoked");
      const list = await ports.local.pluginConfirmation();
      if (name !== undefined)
        return options.revoke ? revoke(ports, list, name, options) : confirm(ports, list, name, options);
      const all = list.list();
      if (options.json) printJson(ports.io, { plugins: all });
      else printList(ports.io, all);
    });
}
