import { readFileSync } from "node:fs";
import { parseJson, readAnswer } from "#client/answer.ts";
import type { LongOperationName } from "#client/background.ts";
import { request } from "#client/index.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import type { Command } from "../core/command.ts";
import { patientFetch } from "../core/fetch.ts";
import { finishBy, runLong } from "../core/operation-follow.ts";
import { asPlan, isWanted, printPlan } from "../core/plan.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode, printJson, severalLines } from "../output/output.ts";
import { argumentOf, isFlat, kebab, type Member, membersOf, optionKey, optionsOf } from "./api-members.ts";

type Input = Record<"params" | "query" | "body", Record<string, unknown>>;
type Options = Readonly<Record<string, unknown>>;

/** The body of a request given as JSON text, as a file, or on standard input. */
async function readData({ local }: CommandPorts, data: string): Promise<Record<string, unknown>> {
  const named = data.startsWith("@") ? data.slice(1) : undefined;
  const text =
    data === "-" || named === "-" ? await local.readInput() : named === undefined ? data : readFileSync(named, "utf8");
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch (error) {
    throw new Error(`cannot read the body: ${errorMessage(error)} (--data takes JSON)`, { cause: error });
  }
  if (!isRecord(value)) throw new Error("cannot read the body: expected a JSON object");
  return value;
}

/** The input of an operation from the arguments and options of a command line; options override `data`. */
function inputOf(members: readonly Member[], words: readonly unknown[], options: Options, data: Options): Input {
  const input: Input = { params: {}, query: {}, body: { ...data } };
  const inPath = members.filter(({ part }) => part === "params");
  for (const [at, { name }] of inPath.entries()) input.params[name] = words[at];
  for (const member of members) {
    const value = options[optionKey(member)];
    if (member.part !== "params" && value !== undefined) input[member.part][member.name] = value;
  }
  return input;
}

const isLong = (name: string): name is LongOperationName =>
  Object.entries<Operation>(operations).some(([each, { outlives }]) => each === name && outlives === true);

async function call(
  { ports, command, name, operation }: { ports: CommandPorts; command: Command; name: string; operation: Operation },
  input: Input,
  options: Options,
) {
  const { io, finish, person, connect } = ports;
  const connection = await connect(command, {
    ...(operation.takesLong && { fetch: patientFetch }),
    ...(operation.outlives && { signal: person.interrupted() }),
  });
  const { params, query, body } = input;
  const given = { params, query, ...(operation.body !== undefined && { body }) };
  const isPlanOnly = input.query["dry_run"] === true;
  if (operation.effect === "danger" && !isPlanOnly && options["yes"] !== true) {
    const asked = await request(connection, operation, { ...given, query: { ...input.query, dry_run: true } });
    // Standard output is for the JSON answer.
    printPlan({ ...io, out: io.err }, asPlan(parseJson(await asked.text(), asked)));
    if (!(await isWanted(ports, "Do it?", {}))) return finish(exitCode.foundTrouble);
  }
  if (isLong(name) && !isPlanOnly) {
    await runLong(ports, connection, {
      name,
      input: given as object,
      options: { json: true, wait: options["wait"] !== false },
    });
    return;
  }
  const response = await request(connection, operation, given);
  const answer = await readAnswer(operation, given, response);
  if (typeof answer === "string") return io.out(severalLines(answer));
  finishBy(ports, answer);
  printJson(io, answer);
}

function addOperation(api: Command, ports: CommandPorts, name: string, operation: Operation): void {
  const { method, base, path, summary, description, effect, body, outlives } = operation;
  const members = membersOf(operation);
  const command = api
    .command(kebab(name))
    .description(summary)
    .notes(
      `${method} ${base === "root" ? "" : apiBase}${path}${description === undefined ? "" : `\n\n${description}`}`,
    );
  for (const member of members.filter(({ part }) => part === "params")) command.addArgument(argumentOf(member));
  for (const member of members.filter((each) => each.part !== "params" && isFlat(each))) {
    for (const option of optionsOf(member)) command.addOption(option);
  }
  if (body !== undefined)
    command.option("-d, --data <json>", "the body as JSON, @FILE or - for standard input; options go over it");
  if (effect === "danger") command.option("-y, --yes", "do not show what would be done, and do not ask");
  if (outlives) command.option("--no-wait", "begin it, and do not wait");
  command.action(async (...all: unknown[]) => {
    const options = command.opts<Options>();
    const data = typeof options["data"] === "string" ? await readData(ports, options["data"]) : {};
    const missing = members.find(
      (each) =>
        each.isRequired && each.part !== "params" && options[optionKey(each)] === undefined && !(each.name in data),
    );
    if (missing !== undefined) {
      const flag = isFlat(missing) ? `--${missing.word}, or ${missing.name} in --data` : `${missing.name} in --data`;
      command.error(`error: ${flag} is needed`);
    }
    await call({ ports, command, name, operation }, inputOf(members, all, options, data), options);
  });
}

/**
 * `steward api <operation>`: every operation of the table, made from its row, below a word of its own so that a new operation
 * cannot take the name of a command or a plugin.
 * @param isWhole whether the commands are added: there are many, and most command lines do not need them.
 */
export function addApiCommands(program: Command, ports: CommandPorts, isWhole: boolean): void {
  const api = program
    .command("api")
    .description("every operation of the interface by its name, with its answer as JSON")
    .notes("What is dangerous shows what would be done and asks first, unless it is told --yes.");
  if (!isWhole) return;
  for (const [name, operation] of Object.entries<Operation>(operations)) addOperation(api, ports, name, operation);
}
