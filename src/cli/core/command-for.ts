import type { Client } from "#client/index.ts";
import type { ServiceOptions } from "./ports.ts";

/** Options that say which service is asked. None is a secret: a key is named by its file. */
const flags = {
  context: "--context",
  url: "--url",
  keyFile: "--key-file",
  cacert: "--cacert",
  cert: "--cert",
  key: "--key",
} as const satisfies Record<keyof ServiceOptions, string>;

// Functions that name commands get a client, not the command line.
const given = new WeakMap<Client, ServiceOptions>();

export const rememberNamed = (client: Client, options: ServiceOptions): void => void given.set(client, options);

/** A word quoted for a shell. */
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** A command to paste that asks the same service with the same key as the client. */
export function commandFor(client: Client, words: string): string {
  const options = given.get(client) ?? {};
  const named = Object.entries(flags).flatMap(([name, flag]) => {
    const value = options[name as keyof ServiceOptions];
    return value === undefined ? [] : [flag, quoted(value)];
  });
  return ["steward", ...named, words].join(" ");
}
