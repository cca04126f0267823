import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

const unroutable = "//";

export interface UnreadablePaths {
  /**
   * Routes a request again whose path is malformed. The request that the framework makes for its error has no decorations,
   * hooks or trusted proxies.
   */
  readonly reroute: (app: FastifyInstance, error: Error, request: FastifyRequest, reply: FastifyReply) => void;
  /** The router's error; undefined for other requests. */
  readonly errorOf: (request: FastifyRequest) => Error | undefined;
}

export function createUnreadablePaths(): UnreadablePaths {
  const errors = new WeakMap<IncomingMessage, Error>();
  return {
    reroute(app, error, { raw }, reply) {
      errors.set(raw, error);
      raw.url = unroutable;
      app.routing(raw, reply.raw);
    },
    errorOf: ({ raw }) => errors.get(raw),
  };
}
