import type { Command } from "commander";
import { defined } from "#kernel/values.ts";
import { patientFetch } from "../core/fetch.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode, oneLine, paintError, printJson, severalLines } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";

interface ExplainOptions {
  readonly connector?: string;
  readonly question?: string;
  readonly preview?: boolean;
  readonly json?: boolean;
}

/** `steward explain`. */
export function addExplainCommand(program: Command, { io, connect, finish, person }: CommandPorts): void {
  program
    .command("explain")
    .description("have a language model explain what a health check found")
    .argument("<check>", "id of the check, such as disk_space")
    .option("--connector <name>", "the connector; the default one when left out")
    .option("-q, --question <text>", "what to ask beside what is wrong and what to do")
    .option("--preview", "print what would be sent, to the letter, and send nothing")
    .option("--json", "print the answer as JSON")
    .addHelpText("after", "\nWhat is said is a claim of the model. Secrets are taken out of what it is sent.")
    .action(async (check: string, options: ExplainOptions, command: Command) => {
      const { connector, question, preview = false } = options;
      const { client } = await connect(command, { fetch: patientFetch, signal: person.interrupted() });
      const body = defined({ connector, question });
      const answer = await withProgress(io, preview ? "asking what would be sent" : "asking the model", () =>
        client.explainCheck({ params: { check_id: check }, query: { preview }, body }),
      );
      finish(exitCode.fine);
      if (options.json) return printJson(io, answer);
      if ("preview" in answer) {
        for (const { role, content } of answer.messages) io.out(`--- ${role}\n${severalLines(content)}\n`);
      } else {
        io.out(`${severalLines(answer.explanation).trimEnd()}\n`);
        const cited = answer.cited.length === 0 ? "" : `, cites ${answer.cited.length} journal entries`;
        io.err(`${paintError(io, "dim", `${oneLine(answer.model)} by ${oneLine(answer.connector)}${cited}`)}\n`);
      }
      for (const what of answer.omitted) io.err(`steward: not sent: ${oneLine(what)}\n`);
    });
}
