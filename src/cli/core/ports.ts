import type { Client, ClientOptions } from "#client/index.ts";
import type { Transport } from "#client/stream.ts";
import type { ContextStore } from "../contexts/store.ts";
import type { Io } from "../output/output.ts";
import type { Command } from "./command.ts";
import type { LocalCommands } from "./local.ts";

export interface Person {
  /** Whether questions can be asked and answered. */
  readonly isThere: boolean;
  /**
   * The answer; undefined at the end of the input.
   * @throws Interrupted at Ctrl-C.
   */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Fires at Ctrl-C, which does not end the program after the first call of this. */
  readonly interrupted: () => AbortSignal;
}

export interface ServiceOptions {
  readonly url?: string;
  readonly keyFile?: string;
  /** A certificate to trust, and a client certificate with its private key. */
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Name of a context, or several. */
  readonly context?: string;
}

export interface Connection extends ClientOptions, Pick<Transport, "openSocket"> {
  /** Called before anything is sent; throws where the key must not go to whoever listens there. */
  readonly allow?: () => Promise<void>;
  readonly client: Client;
}

export interface ConnectOptions {
  /** Ends the calls of the client. */
  readonly signal?: AbortSignal | undefined;
  /** Node's own when left out. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface CommandPorts {
  readonly io: Io;
  readonly now: () => number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly person: Person;
  readonly local: LocalCommands;
  readonly finish: (code: number) => void;
  /** The service that a command line names. */
  readonly connect: (command: Command, options?: ConnectOptions) => Promise<Connection>;
  /** Whether a service is named, by command line, environment or current context. */
  readonly isNamed: (command: Command) => boolean;
  readonly connectTo: (context: string, signal: AbortSignal) => Promise<Connection>;
  readonly contexts: ContextStore;
  readonly given: (command: Command) => ServiceOptions;
}
