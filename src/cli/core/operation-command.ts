import type { Answer, LongOperationName } from "#client/index.ts";
import type { OperationName } from "#contract/index.ts";
import type { Input, Plan } from "#contract/operation.ts";
import type { NotShown } from "#contract/schema.ts";
import { countedOf } from "#kernel/text.ts";
import { exitCode, type Io, oneLine, printJson } from "../output/output.ts";
import { printFields, printNotShown } from "../output/print.ts";
import { withProgress } from "../output/progress.ts";
import { type Columns, printTable } from "../output/table.ts";
import { answerCommand, showValue } from "./answer-command.ts";
import type { Command } from "./command.ts";
import { withPlan } from "./connect.ts";
import { type LongOptions, runLong } from "./operation-follow.ts";
import { type Asked, addOperation, type Given, type OperationCommand, type Row } from "./operation-words.ts";
import { asPlan, carryOutPlan, ioOfPlan, isWanted, printPlan } from "./plan.ts";
import type { CommandPorts, Connection } from "./ports.ts";

/** Adds a command, or several, below another one. */
export type AddCommand = (parent: Command, ports: CommandPorts) => void;

interface Group {
  readonly name: string;
  readonly about: string;
  /** The name of the command that is meant where none is named. */
  readonly preset?: string;
}

/** A command that has commands. */
export const commandGroup =
  ({ name, about, preset }: Group, commands: readonly AddCommand[]): AddCommand =>
  (parent, ports) => {
    const group = parent.command(name).description(about);
    group.presetName = preset;
    for (const add of commands) add(group, ports);
  };

interface ReadCommand<K extends OperationName> extends OperationCommand<K> {
  /** Whether the answer ends the command with exit code 1; never when left out. */
  readonly isTrouble?: (answer: Answer<K>) => boolean;
  /** Whether the answer may begin after minutes. */
  readonly isSlow?: true;
  /** Each member on a line when left out. */
  readonly print?: (io: Io, answer: Answer<K>, asked: Asked<K>) => void;
}

/** A command that prints what an operation answers. */
export const showCommand =
  <K extends OperationName>(operation: K, name: string, spec: ReadCommand<K>): AddCommand =>
  (parent, ports) => {
    const { command, call, asked } = addOperation(operation, name, spec, { parent, ports });
    const { print = (io: Io, answer: Answer<K>) => printFields(io, answer as object), isTrouble, isSlow } = spec;
    answerCommand<[], Answer<K>>(ports, command, {
      ...(isTrouble && { isTrouble }),
      ...(isSlow && { isSlow }),
      ask: (client) => call(client),
      print: (io, answer) => print(io, answer, asked()),
    });
  };

/** What lists of the service have beside their rows. */
interface ListAnswer {
  readonly total?: number;
  readonly not_shown?: NotShown;
  readonly notes?: readonly string[];
}

type RowIn<List> = List extends readonly (infer Each)[] ? Each : never;

interface ListCommand<K extends OperationName, M extends keyof Answer<K>> extends Omit<ReadCommand<K>, "print"> {
  /** The member of the answer that has the rows. */
  readonly rows: M;
  readonly columns:
    | Columns<RowIn<Answer<K>[M]>>
    | ((answer: Answer<K>, asked: Asked<K>) => Columns<RowIn<Answer<K>[M]>>);
  /** Said instead where there are no rows. */
  readonly empty?: string;
  /** What the rows are counted as below them: of the total, where the answer has one. */
  readonly counts?: string | readonly [one: string, several: string];
  /** What makes the list longer, where it is not the whole. */
  readonly more?: string;
  /** What else is said below the rows. */
  readonly below?: (io: Io, answer: Answer<K>, asked: Asked<K>) => void;
}

/** A command that prints a list that an operation answers: rows, their count, and what the answer lacks. */
export const listCommand = <K extends OperationName, M extends keyof Answer<K>>(
  operation: K,
  name: string,
  spec: ListCommand<K, M>,
): AddCommand => {
  const { rows: member, columns, empty, counts = [], more = "", below, ...rest } = spec;
  const [one, several] = [counts].flat();
  return showCommand<K>(operation, name, {
    ...rest,
    print(io, answer, asked) {
      const rows = answer[member] as readonly RowIn<Answer<K>[M]>[];
      const { total = rows.length, not_shown: missing, notes = [] } = answer as ListAnswer;
      if (rows.length === 0 && empty !== undefined) io.out(`${empty}\n`);
      else printTable(io, rows, typeof columns === "function" ? columns(answer, asked) : columns);
      if (one !== undefined)
        io.out(
          `${countedOf(rows.length, total, one, several)}${rows.length < total && more !== "" ? ` (${more} shows more)` : ""}\n`,
        );
      below?.(io, answer, asked);
      printNotShown(io.out, missing);
      for (const note of notes) io.err(`steward: ${oneLine(note)}\n`);
    },
  });
};

type Changing = Exclude<OperationName, LongOperationName>;
type InputOf<K extends OperationName> = Partial<Input<Row<K>>>;

interface Options extends LongOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

interface ChangeCommand<K extends Changing> extends OperationCommand<K> {
  readonly isTrouble?: (answer: Answer<K>) => boolean;
  /** Asked with the plan unless `--yes` is given; undefined: nothing is asked. */
  readonly question?: (plan: Plan, given: Given<K>) => string | undefined;
  readonly print: (io: Io, answer: Answer<K>) => void;
}

/** A command that changes something, or shows with `--dry-run` what it would change. */
export const changingCommand =
  <K extends Changing>(operation: K, name: string, spec: ChangeCommand<K>): AddCommand =>
  (parent, ports) => {
    const { io, connect, finish } = ports;
    const { command, call, asked } = addOperation(operation, name, spec, { parent, ports });
    command.dryRun();
    if (spec.question) command.yes();
    command.json().action(async () => {
      const { dryRun, yes, json } = command.opts<Options>();
      const { given } = asked();
      const connection = await connect(command);
      const make = ({ client }: Connection, isDry = false) => call(client, { dry_run: isDry });
      const show = (answer: Answer<K>): void => showValue(ports, command, spec, answer);
      if (!dryRun && (spec.question === undefined || yes)) return show(await make(connection));
      const plan = asPlan(await make(connection, true));
      if (dryRun) return json ? printJson(io, plan) : printPlan(io, plan);
      const question = spec.question?.(plan, given);
      if (question === undefined) return show(await make(connection));
      printPlan(ioOfPlan(ports, { json }), plan);
      if (!(await isWanted(ports, question, {}))) return finish(exitCode.foundTrouble);
      const changed = await carryOutPlan(ports, {
        plan,
        question: (now) => spec.question?.(now, given) ?? question,
        options: { json },
        carryOut: (agreed) => make(withPlan(connection, agreed)),
      });
      return changed === undefined ? finish(exitCode.foundTrouble) : show(changed.done);
    });
  };

interface LongCommand<K extends LongOperationName> extends OperationCommand<K> {
  /** Whether it is too short not to be waited for. */
  readonly isAwaited?: true;
  /** Asked with the plan; nothing is asked when left out. */
  readonly question?: (plan: Plan, given: Given<K>) => string;
  readonly print: (io: Io, result: Answer<K>) => void;
}

/** A command that begins an operation, after its plan was agreed to, and follows it until it ends. */
export const longCommand =
  <K extends LongOperationName>(operation: K, name: string, spec: LongCommand<K>): AddCommand =>
  (parent, ports) => {
    const { io, connect, finish, person } = ports;
    const { isAwaited, question, print } = spec;
    const { command, input: inputNow, asked } = addOperation(operation, name, spec, { parent, ports });
    command.dryRun();
    if (question) command.yes();
    if (!isAwaited) command.noWait();
    command.json().action(async () => {
      const options = command.opts<Options>();
      const connection = await connect(command, { signal: person.interrupted() });
      const { given } = asked();
      const input = inputNow() as unknown as InputOf<K>;
      const carryOut = (by: Connection) => runLong(ports, by, { name: operation, input, options });
      if (question === undefined && options.dryRun !== true) {
        const result = await carryOut(connection);
        return result === undefined ? undefined : print(io, result);
      }
      const dryRun = connection.client[operation] as (input: object) => Promise<unknown>;
      const plan = asPlan(
        await withProgress(io, "asking what would be done", () => dryRun({ ...input, query: { dry_run: true } })),
      );
      if (question === undefined || options.dryRun === true || plan.steps.length === 0) {
        if (options.json) return printJson(io, plan);
        printPlan(io, plan);
        if (plan.steps.length === 0 && plan.reason === undefined) io.out("nothing to do\n");
        return;
      }
      if (!options.json || !options.yes) printPlan(ioOfPlan(ports, options), plan);
      if (!(await isWanted(ports, question(plan, given), options))) return finish(exitCode.foundTrouble);
      const changed = await carryOutPlan(ports, {
        plan,
        question: (now) => question(now, given),
        options,
        carryOut: (agreed) => carryOut(withPlan(connection, agreed)),
      });
      if (changed === undefined) return finish(exitCode.foundTrouble);
      if (changed.done !== undefined) print(io, changed.done);
    });
  };
