import type { Client } from "#client/index.ts";
import { exitCode, type Io, printJson } from "../output/output.ts";
import type { Command } from "./command.ts";
import type { CommandPorts } from "./ports.ts";
import { patientFetch } from "./transport.ts";

interface Shown<T> {
  readonly print: (io: Io, answer: T) => void;
  /** Whether the answer ends the command with exit code 1; never when left out. */
  readonly isTrouble?: (answer: T) => boolean;
  /** Description of `--json`. */
  readonly json?: string;
}

/** Prints a value, and ends the command by it. */
export function showValue<T>(
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
    .action(async (...all: unknown[]) => showValue(ports, command, call, await call.make(...givenOf<Given>(all))));
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
