import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

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

const unroutable = "//";

export type UnreadablePaths = ReturnType<typeof createUnreadablePaths>;

export function createUnreadablePaths() {
  const errors = new WeakMap<IncomingMessage, Error>();
  return {
    /**
     * Routes a request again whose path is malformed. The request that the framework makes for its error has no decorations,
     * hooks or trusted proxies.
     */
    reroute: (app: FastifyInstance, error: Error, { raw }: FastifyRequest, reply: FastifyReply): void => {
      errors.set(raw, error);
      raw.url = unroutable;
      app.routing(raw, reply.raw);
    },
    errorOf: ({ raw }: FastifyRequest): Error | undefined => errors.get(raw),
  };
}
