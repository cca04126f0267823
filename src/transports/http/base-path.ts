import type { IncomingMessage } from "node:http";
import type { onSendHookHandler } from "fastify";

/** How a service is reached below a path of a reverse proxy; with an empty path, as without a proxy. */
export interface BasePath {
  readonly path: string;
  /** The target of a request as the service has it. Proxies may leave the path in front, or take it away. */
  readonly strip: (target: string) => string;
  /** Puts the path in front of the addresses in headers of answers; undefined where there is nothing to do. */
  readonly addToAnswers: onSendHookHandler | undefined;
}

/** @param base such as `/web1`, without a slash at its end. */
export function createBasePath(base: string): BasePath {
  if (base === "") return { path: base, strip: (target) => target, addToAnswers: undefined };
  return {
    path: base,
    strip(target) {
      if (!target.startsWith(base)) return target;
      const rest = target.slice(base.length);
      if (rest.startsWith("/")) return rest;
      return rest === "" || rest.startsWith("?") ? `/${rest}` : target;
    },
    addToAnswers(_, reply, payload, done) {
      const location = reply.getHeader("location");
      if (typeof location === "string" && location.startsWith("/")) reply.header("location", `${base}${location}`);
      const link = reply.getHeader("link");
      if (typeof link === "string") reply.header("link", link.replaceAll("</", `<${base}/`));
      done(null, payload);
    },
  };
}

/** The path of a request, without its query. */
export const targetPath = ({ strip }: BasePath, { url = "" }: Pick<IncomingMessage, "url">): string =>
  strip(url).split("?", 1)[0] ?? "";
