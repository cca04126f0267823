import type { Command } from "commander";
import type { Client, ClientOptions } from "#client/index.ts";
import type { Transport } from "#client/stream.ts";
import type { ContextStore } from "../contexts/store.ts";
import type { Io } from "../output/output.ts";
import type { LocalCommands } from "./local.ts";

/** Who sits at the terminal, if anybody does. */
export interface Person {
  /** Whether questions can be asked and answered. */
  readonly isThere: boolean;
  /**
   * Their answer; undefined where they end the input instead.
   * @throws Interrupted at Ctrl-C.
   */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Fires at Ctrl-C, which from the first call on does not end the program. */
  readonly interrupted: () => AbortSignal;
}

/** How the service is found, as given on the command line. */
export interface ServiceOptions {
  readonly url?: string;
  readonly keyFile?: string;
  /** A certificate to trust, and one to be known by with its private key. */
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  /** A service of another host by its name (contexts.ts). */
  readonly context?: string;
}

/** A service, and how it is spoken to. */
export interface Connection extends ClientOptions, Pick<Transport, "openSocket"> {
  /** Asked before anything is sent, where the key is not for everybody who may listen there; throws where it must not be. */
  readonly allow?: () => Promise<void>;
  readonly client: Client;
}

export interface ConnectOptions {
  /** Ends the calls of the client. */
  readonly signal?: AbortSignal | undefined;
  /** Node's own unless given. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What commands work with. */
export interface CommandPorts {
  readonly io: Io;
  readonly now: () => number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly person: Person;
  readonly local: LocalCommands;
  /** Says with which code the program is to end. */
  readonly finish: (code: number) => void;
  /** The service that a command line names. */
  readonly connect: (command: Command, options?: ConnectOptions) => Promise<Connection>;
  /** Whether a command line, the environment or the current context names a service, which need not be that of this host. */
  readonly isNamed: (command: Command) => Promise<boolean>;
  /** The service of a context. */
  readonly connectTo: (context: string, signal: AbortSignal) => Promise<Connection>;
  readonly contexts: ContextStore;
  /** Address and key file as given on a command line. */
  readonly given: (command: Command) => ServiceOptions;
}
