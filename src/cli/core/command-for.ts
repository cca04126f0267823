import type { Client } from "#client/index.ts";
import type { ServiceOptions } from "./ports.ts";

/** What says on a command line which service is asked; none of it is a secret, a key is named by its file. */
const flags = {
  context: "--context",
  url: "--url",
  keyFile: "--key-file",
  cacert: "--cacert",
  cert: "--cert",
  key: "--key",
} as const satisfies Record<keyof ServiceOptions, string>;

// A client is handed on to where commands are named, the command line is not.
const given = new WeakMap<Client, ServiceOptions>();

/** Keeps in mind how the service of a client was named. */
export const rememberNamed = (client: Client, options: ServiceOptions): void => void given.set(client, options);

/** A word as a shell takes it for just that. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** A command to paste, which asks the same service with the same key as the client does. */
export function commandFor(client: Client, words: string): string {
  const options = given.get(client) ?? {};
  const named = Object.entries(flags).flatMap(([name, flag]) => {
    const value = options[name as keyof ServiceOptions];
    return value === undefined ? [] : [flag, quoted(value)];
  });
  return ["steward", ...named, words].join(" ");
}
