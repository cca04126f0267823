import { lookup } from "node:dns/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** `localhost` is both loopback addresses where a machine has both. */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== "localhost") return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Takes connections at a further address, and hands them to the server. */
function listenBeside(server: Server, host: string, port: number): void {
  const beside = createServer({ noDelay: true }, (socket: Socket) => server.emit("connection", socket));
  // A family that the machine does not speak, or a port that is taken there: the first address is what counts.
  beside.once("error", () => beside.close());
  server.once("close", () => beside.close());
  beside.listen(port, host);
}

/**
 * Listens. All connections are those of one server, with its limits and its TLS: the framework would make another for the
 * second address of `localhost`, which would know nothing of a renewed certificate.
 * @param resolve the addresses of a host's name.
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
