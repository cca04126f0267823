import { createContextStore } from "./contexts/store.ts";
import { type CommandNode, describeCommand } from "./core/command-tree.ts";
import { nobody } from "./core/person.ts";
import { createProgram } from "./program.ts";

const never = (): Promise<never> => Promise.reject(new Error("cannot run a command: this tree is for reading"));

/** The tree of all commands, for what documents it: nothing in it can be run. */
export const documentedProgram = (version: string): CommandNode =>
  describeCommand(
    createProgram(
      {
        io: { out: () => undefined, err: () => undefined },
        now: () => 0,
        environment: {},
        person: nobody,
        local: {
          serve: never,
          runTask: never,
          checkConfig: never,
          localService: never,
          egress: never,
          checkPlugin: never,
          pluginConfirmation: never,
          stackHost: never,
          audit: { list: never, verify: never },
          readInput: never,
          runChecks: never,
          redact: never,
        },
        finish: () => undefined,
        connect: never,
        connectTo: never,
        isNamed: () => false,
        contexts: createContextStore({}),
        given: () => ({}),
      },
      { version, writeErr: () => undefined, isWhole: true },
    ),
  );
