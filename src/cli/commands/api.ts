import { readFileSync } from "node:fs";
import { Argument, InvalidArgumentError, Option } from "commander";
import { parseJson, readAnswer } from "#client/answer.ts";
import { type LongOperationName, request } from "#client/index.ts";
import { deprecationText } from "#contract/deprecation.ts";
import type { DiagnosisProposal } from "#contract/diagnosis.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isRecord, type JsonObject } from "#kernel/values.ts";
import { type Command, repeated } from "../core/command.ts";
import { withPlan } from "../core/connect.ts";
import { finishBy, runLong } from "../core/operation-follow.ts";
import { choicesOf, inputOf, type Member, membersOf, type OperationInput, typesOf } from "../core/operation-words.ts";
import { asPlan, carryOutPlan, isWanted, printPlan } from "../core/plan.ts";
import type { CommandPorts, Connection } from "../core/ports.ts";
import { quoted } from "../core/service.ts";
import { patientFetch } from "../core/transport.ts";
import { exitCode, oneLine, printJson, severalLines } from "../output/output.ts";
import { printBytes } from "../output/print.ts";

const kebab = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`)
    .replaceAll("_", "-")
    .toLowerCase();

const wordOf = ({ name }: Member): string => kebab(name);
const itemsOf = ({ schema }: Member): JsonObject | undefined =>
  isRecord(schema["items"]) ? schema["items"] : undefined;

/** Whether a word of the command line can stand for it; what cannot goes into `--data`. */
const isFlat = (member: Member): boolean =>
  typesOf(member.schema).some((type) => ["string", "integer", "number", "boolean"].includes(String(type))) ||
  (typesOf(member.schema).includes("array") && itemsOf(member)?.["type"] === "string");

function numberIn({ minimum, maximum }: JsonObject, isInteger: boolean) {
  return (text: string): number => {
    const value = Number(text);
    const isNumber = (isInteger ? /^-?\d+$/ : /^-?\d+(\.\d+)?$/).test(text);
    const isWithin =
      !(typeof minimum === "number" && value < minimum) && !(typeof maximum === "number" && value > maximum);
    if (isNumber && isWithin) return value;
    const kind = isInteger ? "a whole number" : "a number";
    throw new InvalidArgumentError(
      `it must be ${kind}${typeof minimum === "number" ? ` from ${minimum}` : ""}${typeof maximum === "number" ? ` to ${maximum}` : ""}`,
    );
  };
}

function descriptionOf({ schema }: Member): string {
  const { description, default: preset } = schema;
  const said = typeof description === "string" ? oneLine(description) : "";
  const hasDefault = preset !== undefined && preset !== false && preset !== "";
  return [said, hasDefault ? `(default: ${JSON.stringify(preset)})` : ""].filter(Boolean).join(" ");
}

function argumentOf(member: Member): Argument {
  const argument = new Argument(`<${wordOf(member)}>`, descriptionOf(member));
  const choices = choicesOf(member.schema);
  return choices === undefined ? argument : argument.choices(choices);
}

function optionsOf(member: Member): readonly Option[] {
  const { schema } = member;
  const word = wordOf(member);
  const types = typesOf(schema);
  const description = descriptionOf(member);
  if (types.includes("boolean")) {
    const yes = new Option(`--${word}`, description);
    return schema["default"] === false ? [yes] : [yes, new Option(`--no-${word}`, `the opposite of --${word}`)];
  }
  if (types.includes("array")) {
    const option = new Option(`--${word} <value>`, `${description} May be repeated.`.trim());
    return [option.argParser(repeated)];
  }
  const isInteger = types.includes("integer");
  const option = new Option(`--${word} <${isInteger || types.includes("number") ? "number" : "value"}>`, description);
  const choices = choicesOf(schema);
  if (choices !== undefined) return [option.choices(choices)];
  return [isInteger || types.includes("number") ? option.argParser(numberIn(schema, isInteger)) : option];
}

const optionKey = (member: Member): string =>
  wordOf(member).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

function wordsOf(member: Member, value: unknown): readonly string[] {
  const word = wordOf(member);
  if (value === undefined || value === null || value === member.schema["default"]) return [];
  if (typeof value === "boolean") return [value ? `--${word}` : `--no-${word}`];
  return [value].flat().map((each) => `--${word}=${typeof each === "string" ? each : JSON.stringify(each)}`);
}

/** The words behind `api` of the command line that makes a call, quoted for a shell. */
export function apiWords({ operation: name, arguments: given }: DiagnosisProposal): string {
  const row: Operation | undefined = Object.entries<Operation>(operations).find(([each]) => each === name)?.[1];
  const { params, query, body } = given;
  const memberOf = (part: unknown, member: Member): unknown => (isRecord(part) ? part[member.name] : undefined);
  const members = row === undefined ? [] : membersOf(row);
  const inQuery = members
    .filter(({ part }) => part === "query")
    .flatMap((member) => wordsOf(member, memberOf(query, member)));
  const inPath = members.filter(({ part }) => part === "params").map((member) => String(memberOf(params, member)));
  const data = isRecord(body) ? ["--data", JSON.stringify(body)] : [];
  // A name may begin with a dash.
  const separator = inPath.some((word) => word.startsWith("-")) ? ["--"] : [];
  return [kebab(name), ...inQuery, ...data, ...separator, ...inPath].map(quoted).join(" ");
}
type Options = Readonly<Record<string, unknown>>;

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

function givenInput(
  members: readonly Member[],
  words: readonly unknown[],
  options: Options,
  data: Options,
): OperationInput {
  const inPath = members.filter(({ part }) => part === "params");
  const input = inputOf(
    members.map((each) => [each, each.part === "params" ? words[inPath.indexOf(each)] : options[optionKey(each)]]),
  );
  return { ...input, body: { ...data, ...input.body } };
}

const isLong = (name: string): name is LongOperationName =>
  Object.entries<Operation>(operations).some(([each, { outlives }]) => each === name && outlives === true);

async function call(
  { ports, command, name, operation }: { ports: CommandPorts; command: Command; name: string; operation: Operation },
  input: OperationInput,
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
  const carryOut = async (by: Connection): Promise<void> => {
    if (isLong(name) && !isPlanOnly) {
      const how = { json: true, wait: options["wait"] !== false };
      await runLong(ports, by, { name, input: given as object, options: how });
      return;
    }
    const response = await request(by, operation, given);
    const answer = await readAnswer(operation, given, response);
    if (answer instanceof ReadableStream) return printBytes(io, answer as ReadableStream<Uint8Array>);
    if (typeof answer === "string") return io.out(severalLines(answer));
    finishBy(ports, answer);
    printJson(io, answer);
  };
  if (operation.effect !== "danger" || isPlanOnly || options["yes"] === true) return carryOut(connection);
  const asked = await request(connection, operation, { ...given, query: { ...input.query, dry_run: true } });
  const plan = asPlan(parseJson(await asked.text(), asked));
  // Standard output is for the JSON answer.
  printPlan({ ...io, out: io.err }, plan);
  const question = "Do it?";
  if (!(await isWanted(ports, question, {}))) return finish(exitCode.foundTrouble);
  const changed = await carryOutPlan(ports, {
    plan,
    question: () => question,
    options: { json: true },
    carryOut: (agreed) => carryOut(withPlan(connection, agreed)),
  });
  if (changed === undefined) finish(exitCode.foundTrouble);
}

function addOperation(api: Command, ports: CommandPorts, name: string, operation: Operation): void {
  const { method, base, path, summary, description, deprecated, effect, body, outlives } = operation;
  const members = membersOf(operation);
  const command = api
    .command(kebab(name))
    .description(summary)
    .notes(
      [`${method} ${base === "root" ? "" : apiBase}${path}`, deprecated && deprecationText(deprecated), description]
        .filter(Boolean)
        .join("\n\n"),
    );
  for (const member of members.filter(({ part }) => part === "params")) command.addArgument(argumentOf(member));
  for (const member of members.filter((each) => each.part !== "params" && isFlat(each))) {
    for (const option of optionsOf(member)) command.addOption(option);
  }
  if (body !== undefined)
    command.option(
      "-d, --data <json>",
      "the body as JSON, @FILE or - for standard input; options override its members",
    );
  if (effect === "danger")
    command.option("-y, --yes", "do not show what would be done, and do not ask for confirmation");
  if (outlives) command.option("--no-wait", "start it, and do not wait");
  command.action(async (...all: unknown[]) => {
    const options = command.opts<Options>();
    const data = typeof options["data"] === "string" ? await readData(ports, options["data"]) : {};
    const missing = members.find(
      (each) =>
        each.isRequired && each.part !== "params" && options[optionKey(each)] === undefined && !(each.name in data),
    );
    if (missing !== undefined) {
      const flag = isFlat(missing) ? `--${wordOf(missing)}, or ${missing.name} in --data` : `${missing.name} in --data`;
      command.error(`error: ${flag} is required`);
    }
    await call({ ports, command, name, operation }, givenInput(members, all, options, data), options);
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
    .description("call any operation of the API by its name; prints the answer as JSON")
    .notes("Dangerous operations show what would be done and ask first, unless --yes is given.");
  if (!isWhole) return;
  for (const [name, operation] of Object.entries<Operation>(operations)) addOperation(api, ports, name, operation);
}
