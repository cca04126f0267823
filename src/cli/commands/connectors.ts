import type { Answer } from "#client/index.ts";
import type { ConnectorStatus } from "#contract/connectors.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode, type Io, oneLine, printJson } from "../output/output.ts";
import { printFields } from "../output/print.ts";
import { withProgress } from "../output/progress.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatAge } from "../output/text.ts";

const styles: Readonly<Record<ConnectorStatus, Style>> = {
  connected: "green",
  disconnected: "red",
  error: "red",
  not_configured: "yellow",
};

function printConnectors(io: Io, answer: Answer<"listConnectors">, now: number) {
  if (answer.connectors.length === 0) return io.out("no connectors: the settings name none, and none was found\n");
  printTable(io, answer.connectors, {
    connector: ({ name }) => (name === answer.default ? `${name} (default)` : name),
    provider: ({ provider }) => provider,
    model: ({ model }) => model,
    status: ({ status }) => ({ text: status, style: styles[status] }),
    "looked at": ({ last_checked_at: at }) => (at === null ? "never" : formatAge(at, now)),
    why: (each) => each.last_error ?? "",
  });
}

export function addConnectorsCommands(program: Command, ports: CommandPorts): void {
  const { io, now, connect, finish } = ports;
  const connectors = program.command("connectors").description("language models: list and test connectors");
  answerCommand(ports, connectors.presetCommand("list").description("list connectors; asks no provider"), {
    ask: (client) => client.listConnectors(),
    print: (_, answer) => printConnectors(io, answer, now()),
  });
  const show = connectors.command("show").description("one connector").argument("<name>", "its name");
  answerCommand(ports, show, {
    ask: (client, name: string) => client.getConnector({ params: { name } }),
    print: printFields,
  });
  connectors
    .command("test")
    .description("ask the provider of a connector")
    .argument("[name]", "the connector; the default one when left out")
    .json()
    .notes("Exit code: 0 it answers, 1 it does not, 2 the service could not be asked.")
    .action(async (given: string | undefined, options: { json?: boolean }, command: Command) => {
      const { client } = await connect(command);
      const name = given ?? (await client.listConnectors()).default;
      if (name === null) throw new Error("cannot test a connector: there is no default one (name one)");
      const answer = await withProgress(io, `asking ${name}`, () => client.testConnector({ params: { name } }));
      finish(answer.success ? exitCode.fine : exitCode.foundTrouble);
      if (options.json) return printJson(io, answer);
      io.out(`${oneLine(name)}: ${oneLine(answer.message)} (${answer.latency_ms} ms)\n`);
    });
}
