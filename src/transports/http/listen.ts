import { lookup } from "node:dns/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";

async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== "localhost") return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function listenBeside(server: Server, host: string, port: number): void {
  const beside = createServer({ noDelay: true }, (socket: Socket) => server.emit("connection", socket));
  // An address family that is missing, or a port that is taken there; only the first address matters.
  beside.once("error", () => beside.close());
  server.once("close", () => beside.close());
  beside.listen(port, host);
}

/**
 * Listens. All connections belong to one server, with its limits and its TLS: the framework would make a second one for the
 * other address of `localhost`, which would not get renewed certificates.
 */
export async function listen(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
  resolve: (host: string) => Promise<readonly string[]> = addressesOf,
): Promise<void> {
  const [first = host, ...others] = await resolve(host);
  await app.listen({ host: first, port });
  const bound = app.server.address();
  if (typeof bound !== "object" || bound === null) return;
  for (const address of others) listenBeside(app.server, address, bound.port);
}
