import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** A path that no route has. */
const unroutable = "//";

export interface UnreadablePaths {
  /**
   * Routes a request anew whose path the router cannot read (malformed percent-encoding, a parameter that is too long). The request
   * that the framework makes for its error has no decorations, no hooks and no trusted proxies.
   */
  readonly reroute: (app: FastifyInstance, error: Error, request: FastifyRequest, reply: FastifyReply) => void;
  /** What the router could not read; undefined for every other request. */
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
