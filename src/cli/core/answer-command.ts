import type { Command } from "commander";
import type { Client } from "#client/index.ts";
import { exitCode, printJson } from "../output/output.ts";
import type { CommandPorts } from "./ports.ts";

/**
 * Adds `--json` and an action that asks the service and prints its answer.
 * @param call.ask gets the arguments of the command, then its options.
 * @param call.isTrouble whether the answer ends the command with exit code 1; never when left out.
 */
export function answerCommand<Given extends unknown[], T>(
  { io, connect, finish }: Pick<CommandPorts, "io" | "connect" | "finish">,
  command: Command,
  call: {
    readonly ask: (client: Client, ...given: Given) => Promise<T>;
    readonly print: (io: CommandPorts["io"], answer: T) => void;
    readonly isTrouble?: (answer: T) => boolean;
  },
): void {
  command.option("--json", "print the answer as JSON").action(async (...all: unknown[]) => {
    // Commander calls an action with the arguments, the options and the command.
    const given = all.slice(0, -1) as Given;
    const answer = await call.ask((await connect(command)).client, ...given);
    if (call.isTrouble) finish(call.isTrouble(answer) ? exitCode.foundTrouble : exitCode.fine);
    if (command.opts()["json"]) printJson(io, answer);
    else call.print(io, answer);
  });
}
