import type { Answer } from "#client/index.ts";
import { defined } from "#kernel/values.ts";
import { answerCommand } from "../core/answer-command.ts";
import { type Command, checkArgument } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine, paintError, severalLines } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";

interface ExplainOptions {
  readonly connector?: string;
  readonly question?: string;
  readonly preview?: boolean;
}

function printAnswer(io: Io, answer: Answer<"explainCheck">): void {
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

export function addExplainCommand(program: Command, ports: CommandPorts): void {
  const explain = program
    .command("explain")
    .description("have a language model explain what a health check found")
    .addArgument(checkArgument("<check>"))
    .option("--connector <name>", "the connector; the default one when left out")
    .option("-q, --question <text>", "what to ask beside what is wrong and what to do")
    .option("--preview", "print what would be sent, to the letter, and send nothing")
    .notes("What is said is a claim of the model. Secrets are taken out of what it is sent.");
  answerCommand(ports, explain, {
    isSlow: true,
    ask: (client, check: string, { connector, question, preview = false }: ExplainOptions) =>
      withProgress(ports.io, preview ? "asking what would be sent" : "asking the model", () =>
        client.explainCheck({
          params: { check_id: check },
          query: { preview },
          body: defined({ connector, question }),
        }),
      ),
    print: printAnswer,
  });
}
