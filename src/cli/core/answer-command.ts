import type { Answer, Client, LongOperationName } from "#client/index.ts";
import type { operations } from "#contract/index.ts";
import type { Input, Plan } from "#contract/operation.ts";
import { exitCode, type Io, printJson } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";
import type { Command } from "./command.ts";
import { withPlan } from "./connect.ts";
import { type LongOptions, runLong } from "./operation-follow.ts";
import { asPlan, carryOutPlan, ioOfPlan, isWanted, printPlan } from "./plan.ts";
import type { CommandPorts, Connection } from "./ports.ts";
import { patientFetch } from "./transport.ts";

interface Shown<T> {
  readonly print: (io: Io, answer: T) => void;
  /** Whether the answer ends the command with exit code 1; never when left out. */
  readonly isTrouble?: (answer: T) => boolean;
  /** Description of `--json`. */
  readonly json?: string;
}

/** Prints a value, and ends the command by it. */
function show<T>(
  { io, finish }: Pick<CommandPorts, "io" | "finish">,
  command: Command,
  { print, isTrouble }: Shown<T>,
  value: T,
): void {
  if (isTrouble) finish(isTrouble(value) ? exitCode.foundTrouble : exitCode.fine);
  if (command.opts()["json"]) printJson(io, value);
  else print(io, value);
}

/** Commander calls an action with the arguments, the options and the command. */
const givenOf = <Given extends unknown[]>(all: readonly unknown[]): Given => all.slice(0, -1) as Given;

/** Adds `--json` and an action that prints what it makes. @param call.make gets the arguments of the command, then its options. */
export function valueCommand<Given extends unknown[], T>(
  ports: Pick<CommandPorts, "io" | "finish">,
  command: Command,
  call: Shown<T> & { readonly make: (...given: Given) => Promise<T> | T },
): void {
  command
    .json(call.json)
    .action(async (...all: unknown[]) => show(ports, command, call, await call.make(...givenOf<Given>(all))));
}

/** {@link valueCommand} with an answer of the service. @param call.isSlow whether the answer may begin after minutes. */
export function answerCommand<Given extends unknown[], T>(
  ports: Pick<CommandPorts, "io" | "connect" | "finish" | "person">,
  command: Command,
  call: Shown<T> & {
    readonly ask: (client: Client, ...given: Given) => Promise<T>;
    readonly isSlow?: boolean;
  },
): void {
  const { connect, person } = ports;
  valueCommand<Given, T>(ports, command, {
    ...call,
    async make(...given) {
      const patience = call.isSlow ? { fetch: patientFetch, signal: person.interrupted() } : {};
      return call.ask((await connect(command, patience)).client, ...given);
    },
  });
}

/**
 * Adds `--dry-run`, `--json` and an action that changes something.
 * @param call.change makes the call, or its dry run; it gets the arguments of the command, then its options.
 * @param call.question asked with the plan unless `--yes` is given; undefined: nothing is asked.
 */
export function changeCommand<Given extends unknown[], T>(
  ports: Pick<CommandPorts, "io" | "connect" | "finish" | "person">,
  command: Command,
  call: Shown<T> & {
    readonly change: (client: Client, query: { dry_run: boolean }, ...given: Given) => Promise<T>;
    readonly question?: (plan: Plan, ...given: Given) => string | undefined;
  },
): void {
  const { io, connect, finish } = ports;
  command.dryRun();
  if (call.question) command.yes();
  command.json().action(async (...all: unknown[]) => {
    const given = givenOf<Given>(all);
    const { dryRun, yes, json } = command.opts<PlannedOptions>();
    const connection = await connect(command);
    const change = ({ client }: Connection) => call.change(client, { dry_run: false }, ...given);
    if (dryRun || (call.question && !yes)) {
      const plan = asPlan(await call.change(connection.client, { dry_run: true }, ...given));
      if (dryRun) return json ? printJson(io, plan) : printPlan(io, plan);
      const question = call.question?.(plan, ...given);
      if (question !== undefined) {
        printPlan(ioOfPlan(ports, { json }), plan);
        if (!(await isWanted(ports, question, {}))) return finish(exitCode.foundTrouble);
        const changed = await carryOutPlan(ports, {
          plan,
          question: (now) => call.question?.(now, ...given) ?? question,
          options: { json },
          carryOut: (agreed) => change(withPlan(connection, agreed)),
        });
        return changed === undefined ? finish(exitCode.foundTrouble) : show(ports, command, call, changed.done);
      }
    }
    show(ports, command, call, await change(connection));
  });
}

export interface PlannedOptions extends LongOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** Adds an action that shows the plan of an operation, asks, begins it, follows it and prints its result. */
export function plannedCommand<K extends LongOperationName, Given extends unknown[]>(
  ports: Pick<CommandPorts, "io" | "connect" | "finish" | "person">,
  command: Command,
  call: {
    readonly name: K;
    readonly input: (...given: Given) => Partial<Input<(typeof operations)[K]>>;
    readonly question: (plan: Plan, ...given: Given) => string;
    readonly print: (io: Io, result: Answer<K>) => void;
  },
): void {
  const { io, connect, finish, person } = ports;
  command.action(async (...all: unknown[]) => {
    const given = givenOf<Given>(all);
    const options = command.opts<PlannedOptions>();
    const connection = await connect(command, { signal: person.interrupted() });
    const input = call.input(...given);
    const dryRun = connection.client[call.name] as (input: object) => Promise<unknown>;
    const plan = asPlan(
      await withProgress(io, "asking what would be done", () => dryRun({ ...input, query: { dry_run: true } })),
    );
    if (options.dryRun === true || plan.steps.length === 0) {
      if (options.json) return printJson(io, plan);
      printPlan(io, plan);
      if (plan.steps.length === 0 && plan.reason === undefined) io.out("nothing to do\n");
      return;
    }
    if (!options.json || !options.yes) printPlan(ioOfPlan(ports, options), plan);
    if (!(await isWanted(ports, call.question(plan, ...given), options))) return finish(exitCode.foundTrouble);
    const changed = await carryOutPlan(ports, {
      plan,
      question: (now) => call.question(now, ...given),
      options,
      carryOut: (agreed) => runLong(ports, withPlan(connection, agreed), { name: call.name, input, options }),
    });
    if (changed === undefined) return finish(exitCode.foundTrouble);
    if (changed.done !== undefined) call.print(io, changed.done);
  });
}
