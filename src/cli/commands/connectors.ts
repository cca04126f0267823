import type { Answer } from "#client/index.ts";
import type { ConnectorStatus } from "#contract/connectors.ts";
import type { Command } from "../core/command.ts";
import { commandGroup, listCommand, showCommand } from "../core/operation-command.ts";
import { checkWord } from "../core/operation-words.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode, type Io, oneLine, paintError, printJson, severalLines } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";
import type { Style } from "../output/screen.ts";
import { formatAge } from "../output/text.ts";

const styles: Readonly<Record<ConnectorStatus, Style>> = {
  connected: "green",
  disconnected: "red",
  error: "red",
  not_configured: "yellow",
};

const listConnectors = listCommand("listConnectors", "list", {
  about: "list connectors; asks no provider",
  rows: "connectors",
  columns: ({ default: preset }, { now }) => ({
    connector: ({ name }) => (name === preset ? `${name} (default)` : name),
    provider: "provider",
    model: "model",
    status: ({ status }) => ({ text: status, style: styles[status] }),
    inspected: ({ last_checked_at: at }) => (at === null ? "never" : formatAge(at, now)),
    why: "last_error",
  }),
  empty: "no connectors: the settings name none, and none was found",
});

function addTestCommand(connectors: Command, { io, connect, finish }: CommandPorts): void {
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

export const addConnectorsCommands = commandGroup(
  { name: "connectors", about: "language models: list and test connectors", preset: "list" },
  [
    listConnectors,
    showCommand("getConnector", "show", {
      about: "one connector",
      words: { name: { as: "<name>", about: "its name" } },
    }),
    addTestCommand,
  ],
);

function printExplanation(io: Io, answer: Answer<"explainCheck">): void {
  if ("preview" in answer) {
    for (const { role, content } of answer.messages) io.out(`--- ${role}\n${severalLines(content)}\n`);
  } else {
    io.out(`${severalLines(answer.explanation).trimEnd()}\n`);
    const cited = answer.cited.length === 0 ? "" : `, cites ${answer.cited.length} journal entries`;
    io.err(`${paintError(io, "dim", `${oneLine(answer.model)} by ${oneLine(answer.connector)}${cited}`)}\n`);
  }
  const { invalid_citations: strange = [], unsupported = [] } = "explanation" in answer ? answer : {};
  if (strange.length > 0) io.err(`steward: it cites lines that do not exist: ${strange.join(", ")}\n`);
  for (const sentence of unsupported) io.err(`steward: without evidence: ${oneLine(sentence)}\n`);
  for (const what of answer.omitted) io.err(`steward: not sent: ${oneLine(what)}\n`);
}

export const addExplainCommand = showCommand("explainCheck", "explain", {
  about: "have a language model explain what a health check found",
  notes: "What is said is a claim of the model. Secrets are taken out of what it is sent.",
  words: {
    check_id: checkWord("<check>"),
    connector: { as: "--connector <name>", about: "the connector; the default one when left out" },
    question: { as: "-q, --question <text>", about: "what to ask beside what is wrong and what to do" },
    preview: { as: "--preview", about: "print what would be sent, to the letter, and send nothing" },
  },
  isSlow: true,
  progress: ({ preview }) => (preview ? "asking what would be sent" : "asking the model"),
  print: printExplanation,
});
