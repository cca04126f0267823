import type { FastifyInstance, FastifyRequest } from "fastify";
import { DomainError } from "#domain/common/error.ts";

/** JSON alone is read, and an empty body is no body. */
export function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser("error", "error");
  const isEmpty = ({ headers }: FastifyRequest): boolean => headers["content-length"] === "0";
  app.addContentTypeParser("*", (request, _, done) => {
    if (isEmpty(request)) return done(null, undefined);
    done(
      new DomainError("VALIDATION_ERROR", "cannot accept the request: its body is not JSON (send application/json)", {
        field: "Content-Type",
        issue: "Must be application/json",
      }),
    );
  });
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parseJson(request, body, done);
  });
}
