import type { Answer } from "#client/index.ts";
import { counted } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, NamedOption, namedArgument } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine, severalLines } from "../output/output.ts";
import { printTable } from "../output/table.ts";

interface ListOptions {
  readonly check?: string;
  readonly unit?: string;
  readonly template?: string;
}

type Entry = Answer<"listRunbooks">["runbooks"][number];

const subjectsOf = ({ applies_to: subjects }: Entry): string =>
  subjects.flatMap((subject) => Object.entries(subject).map(([kind, name]) => `${kind} ${name}`)).join(", ");

function printRunbooks(io: Io, { runbooks, faults }: Answer<"listRunbooks">): void {
  printTable(io, runbooks, {
    runbook: ({ id }) => id,
    from: ({ origin }) => (origin === "local" ? "this host" : "steward"),
    "applies to": subjectsOf,
    title: ({ title }) => title,
  });
  io.out(`${counted(runbooks.length, "runbook")}\n`);
  for (const { file, reason } of faults) io.err(`steward: ${oneLine(file)} is not used: ${oneLine(reason)}\n`);
}

function printRunbook(io: Io, { title, body }: Answer<"getRunbook">): void {
  io.out(`# ${oneLine(title)}\n\n${severalLines(body).trimEnd()}\n`);
}

export function addRunbooksCommands(program: Command, ports: CommandPorts): void {
  const runbooks = program.command("runbooks").description("what to do about findings");
  const list = runbooks
    .presetCommand("list")
    .description("list runbooks, those of this host first")
    .addOption(new NamedOption("--check <id>", "those of this check", "check"))
    .addOption(new NamedOption("-u, --unit <unit>", "those of this unit", "unit"))
    .option("--template <id>", "those of this template of log messages")
    .notes("Those of this host are Markdown files in /etc/steward/runbooks.");
  answerCommand(ports, list, {
    ask: (client, { check, unit, template }: ListOptions) =>
      client.listRunbooks({ query: defined({ check, unit, template }) }),
    print: printRunbooks,
  });
  const show = runbooks
    .command("show")
    .description("show a runbook, Markdown")
    .addArgument(namedArgument("<id>", "its id, as `steward runbooks` has it", "runbook"));
  answerCommand(ports, show, {
    ask: (client, id: string) => client.getRunbook({ params: { id } }),
    print: printRunbook,
  });
}
