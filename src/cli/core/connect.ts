import type { Client } from "#client/index.ts";
import { createClient } from "#client/index.ts";
import type { Connection, ConnectOptions, ServiceOptions } from "./ports.ts";
import { certificatesFor, findMeant, quoted, type ServiceSource, serviceFlags, serviceFor } from "./service.ts";
import { fetchWith, useCertificates } from "./transport.ts";

// Functions that name commands get a client, not the command line.
const optionsOf = new WeakMap<Client, ServiceOptions>();

/** A command to paste that asks the same service with the same key as the client. */
export function commandFor(client: Client, words: string): string {
  const options = optionsOf.get(client) ?? {};
  const named = Object.entries(serviceFlags).flatMap(([name, flag]) => {
    const value = options[name as keyof ServiceOptions];
    return value === undefined ? [] : [flag, quoted(value)];
  });
  return ["steward", ...named, words].join(" ");
}

function connectionTo(given: Omit<Connection, "client">, options: ServiceOptions): Connection {
  const { allow, fetch = globalThis.fetch } = given;
  const guarded: typeof fetch = async (input, init) => {
    await allow?.();
    return fetch(input, init);
  };
  const connection = allow === undefined ? given : { ...given, fetch: guarded };
  const client = createClient(connection);
  optionsOf.set(client, options);
  return { ...connection, client };
}

/** A client of the service that is named, else of the local one. @throws Error when no key is found. */
export async function connect(source: ServiceSource & ConnectOptions): Promise<Connection> {
  const { options, signal, fetch } = source;
  const meant = findMeant(source);
  await useCertificates(certificatesFor(meant));
  const service = await serviceFor(meant);
  return connectionTo({ ...(fetch && { fetch }), ...service, ...(signal && { signal }) }, options);
}

/** {@link connect} for one of several services that this process asks: its certificates are for it alone. */
export async function connectToOne(source: ServiceSource & { readonly signal: AbortSignal }): Promise<Connection> {
  const { options, signal } = source;
  const meant = findMeant(source);
  const service = await serviceFor(meant);
  return connectionTo({ fetch: await fetchWith(certificatesFor(meant)), ...service, signal }, options);
}
