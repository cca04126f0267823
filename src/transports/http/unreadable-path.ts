import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

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
    /** The router's error; undefined for other requests. */
    errorOf: ({ raw }: FastifyRequest): Error | undefined => errors.get(raw),
  };
}
