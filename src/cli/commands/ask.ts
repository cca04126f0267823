import { streamDiagnosis } from "#client/chat.ts";
import type { Diagnosis, DiagnosisCall, DiagnosisProposal, DiagnosisStep } from "#contract/diagnosis.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { type Command, NamedOption } from "../core/command.ts";
import { commandFor } from "../core/connect.ts";
import { Interrupted } from "../core/errors.ts";
import { planLines } from "../core/plan.ts";
import type { CommandPorts, Connection } from "../core/ports.ts";
import { patientFetch } from "../core/transport.ts";
import { type Io, oneLine, paintError, printJson, severalLines } from "../output/output.ts";
import { startProgress } from "../output/progress.ts";
import { apiWords } from "./api.ts";

interface AskOptions {
  readonly check?: string;
  readonly unit?: string;
  readonly connector?: string;
  readonly preview?: boolean;
  readonly json?: boolean;
}

const callText = ({ id, operation, arguments: given }: DiagnosisStep | DiagnosisCall): string => {
  const words = Object.entries(given).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return oneLine([id, operation, ...words].join(" "));
};

function endOf({ status, error_code: code, planned, bytes }: DiagnosisStep | DiagnosisCall): string {
  if (code !== null) return oneLine(`${status ?? ""} ${code}`);
  return planned ? "planned, not done" : `${status ?? ""}, ${formatBytes(bytes ?? 0)}`;
}

function printProposal(io: Io, { client }: Connection, proposal: DiagnosisProposal): void {
  const { operation, reason, plan } = proposal;
  io.out(`\nproposed: ${oneLine(operation)}${reason === null ? "" : ` (${oneLine(reason)})`}\n`);
  for (const line of planLines(plan)) io.out(`  ${line}\n`);
  io.out(`  ${oneLine(commandFor(client, `api ${apiWords(proposal)}`))}\n`);
}

const stopped = {
  calls: "it may make no more calls",
  time: "its time was over",
  tokens: "its tokens were used up",
} as const;

function printDiagnosis(io: Io, connection: Connection, found: Diagnosis): void {
  const { answer, model, connector, usage, calls, proposals, cited, invalid_citations: strange, unsupported } = found;
  io.out(`${severalLines(answer).trimEnd()}\n`);
  if (calls.length > 0) io.out("\nIt called:\n");
  for (const call of calls) io.out(`  ${callText(call)}: ${endOf(call)}\n`);
  for (const proposal of proposals) printProposal(io, connection, proposal);
  const sum = `${counted(calls.length, "call")}, cites ${cited.length}, ${usage.input_tokens} + ${usage.output_tokens} tokens`;
  io.err(`${paintError(io, "dim", `${oneLine(model)} by ${oneLine(connector)}: ${sum}`)}\n`);
  if (found.reason !== null)
    io.err(`steward: it could call nothing, and answered from what it was sent: ${oneLine(found.reason)}\n`);
  if (found.stopped_by !== null) io.err(`steward: it looked no further: ${stopped[found.stopped_by]}\n`);
  if (strange.length > 0) io.err(`steward: it cites what does not exist: ${oneLine(strange.join(", "))}\n`);
  for (const sentence of unsupported) io.err(`steward: without evidence: ${oneLine(sentence)}\n`);
  for (const what of found.omitted) io.err(`steward: not sent: ${oneLine(what)}\n`);
}

/** Shows the calls on standard error as they happen. */
async function diagnose(
  { io, person }: CommandPorts,
  { url, key, fetch }: Connection,
  request: object,
): Promise<Diagnosis> {
  const signal = person.interrupted();
  const progress = startProgress(io, "asking the model");
  try {
    for await (const event of streamDiagnosis({ url, key, request, signal, ...(fetch && { fetch }) })) {
      if (event.event === "done") return event.diagnosis;
      const { step } = event;
      progress.show(step.status === null ? callText(step) : `${callText(step)}: ${endOf(step)}; asking the model`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    io.err("steward: ended by Ctrl-C\n");
    throw new Interrupted();
  } finally {
    progress.end();
  }
  throw new Error("cannot show a diagnosis: the answer had none");
}

export function addAskCommand(program: Command, ports: CommandPorts): void {
  const { io, connect, person } = ports;
  program
    .command("ask")
    .description("have a language model look for the cause of something on this host")
    .argument("[question...]", "what to find out; may be left out with --check or --unit")
    .addOption(new NamedOption("--check <id>", "the check that it is about", "check"))
    .addOption(new NamedOption("--unit <name>", "the unit that it is about", "unit"))
    .option("--connector <name>", "the connector; the default one when left out")
    .option("--preview", "print what would be sent first, to the letter, and send nothing")
    .json()
    .notes(`  steward ask why is nginx down
  steward ask --check disk_space
  steward ask --unit nginx --preview

The model calls operations with the rights of this key, and cannot change anything: what it proposes is shown as a plan, with the
command that carries it out. What is said is a claim of the model; [L12] is a line of the log that it was sent, [C3] one of its
calls. Secrets are taken out of what it is sent.`)
    .action(async (words: string[], { check, unit, connector, preview, json }: AskOptions, command: Command) => {
      const question = words.join(" ").trim();
      if (question === "" && check === undefined && unit === undefined)
        command.error("error: no question was given: pass one as an argument, or --check or --unit");
      const request = { ...(question !== "" && { question }), ...defined({ check, unit, connector }) };
      const connection = await connect(command, { fetch: patientFetch, signal: person.interrupted() });
      if (preview) {
        const shown = await connection.client.diagnose({ query: { preview: true }, body: request });
        if (json || !("preview" in shown)) return printJson(io, shown);
        for (const { role, content } of shown.messages) io.out(`--- ${role}\n${severalLines(content)}\n`);
        io.out(`--- operations\n${shown.tools.map(({ name }) => oneLine(name)).join(", ") || "none"}\n`);
        for (const what of shown.omitted) io.err(`steward: not sent: ${oneLine(what)}\n`);
        return;
      }
      const found = await diagnose(ports, connection, request);
      if (json) printJson(io, found);
      else printDiagnosis(io, connection, found);
    });
}
