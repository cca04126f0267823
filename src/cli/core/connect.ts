import type { DeprecationNotice } from "#client/http.ts";
import { type Client, createClient } from "#client/index.ts";
import type { Plan } from "#contract/operation.ts";
import { defined } from "#kernel/values.ts";
import { oneLine } from "../output/output.ts";
import type { CliTime, Connection, ConnectOptions, ServiceOptions } from "./ports.ts";
import { certificatesFor, findMeant, quoted, type ServiceSource, serviceFlags, serviceFor } from "./service.ts";
import { fetchWith, useCertificates } from "./transport.ts";

/** Warns once of each operation that the service is to lose, whatever command uses it. */
export function createDeprecationWarnings(err: (text: string) => void): (notice: DeprecationNotice) => void {
  const seen = new Set<string>();
  return ({ method, path, sunset, successor }) => {
    const operation = `${method} ${path}`;
    if (seen.has(operation)) return;
    seen.add(operation);
    const until = sunset === undefined ? "" : `, and may be gone after ${sunset.toISOString().slice(0, 10)}`;
    const instead = successor === undefined ? "" : `: ${oneLine(successor)} takes its place`;
    err(`steward: warning: ${operation} is deprecated${until}${instead}\n`);
  };
}

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
  const { overrideWindow, proposalReason } = options;
  const reasons = [
    ["X-Window-Override", overrideWindow],
    ["X-Proposal-Reason", proposalReason],
  ] as const;
  const isPlain = overrideWindow === undefined && proposalReason === undefined;
  const guarded: typeof fetch = async (input, init) => {
    await allow?.();
    if (isPlain) return fetch(input, init);
    const headers = new Headers(init?.headers);
    for (const [name, reason] of reasons) if (reason !== undefined) headers.set(name, reason);
    return fetch(input, { ...init, headers });
  };
  const connection = allow === undefined && isPlain ? given : { ...given, fetch: guarded };
  const client = createClient(connection);
  optionsOf.set(client, options);
  return { ...connection, client };
}

/** The connection with a client whose call does what the plan says, or is refused. A plan that was agreed to before counts. */
export function withPlan(connection: Connection, { plan_token: token }: Pick<Plan, "plan_token">): Connection {
  if (token === undefined || connection.planToken !== undefined) return connection;
  const agreed = { ...connection, planToken: token };
  const client = createClient(agreed);
  optionsOf.set(client, optionsOf.get(connection.client) ?? {});
  return { ...agreed, client };
}

type Source = ServiceSource & ConnectOptions & Pick<CliTime, "sleep">;

/** A client of the service that is named, else of the local one. @throws Error when no key is found. */
export async function connect(source: Source): Promise<Connection> {
  const { options, signal, fetch, onDeprecated, sleep } = source;
  const meant = findMeant(source);
  await useCertificates(certificatesFor(meant));
  const service = await serviceFor(meant);
  return connectionTo({ ...(fetch && { fetch }), ...service, sleep, ...defined({ signal, onDeprecated }) }, options);
}

/** {@link connect} for one of several services that this process asks: its certificates are for it alone. */
export async function connectToOne(source: Source & { readonly signal: AbortSignal }): Promise<Connection> {
  const { options, signal, onDeprecated, sleep } = source;
  const meant = findMeant(source);
  const service = await serviceFor(meant);
  const fetch = await fetchWith(certificatesFor(meant));
  return connectionTo({ fetch, ...service, signal, sleep, ...defined({ onDeprecated }) }, options);
}
