import type { FastifyReply, FastifyRequest } from "fastify";
import { sessionHeader } from "#contract/sessions.ts";
import { DomainError } from "#domain/common/error.ts";

const headerName = sessionHeader.toLowerCase();

/** Of which the browser may send several: pages of other ports set cookies for all ports of a host. */
const maxCookies = 8;

/** What a request says of a session. */
export interface PresentedSession {
  /** What the page keeps: the second half, or a ticket made with it. */
  readonly second: { readonly kind: "secret" | "ticket"; readonly text: string } | undefined;
  readonly cookies: readonly string[];
}

const isHttps = ({ protocol, headers: { origin } }: FastifyRequest): boolean =>
  protocol === "https" || origin?.startsWith("https:") === true;

/** The port as the browser sees it. */
const portSuffix = (host: string): string => {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  return port === undefined ? "" : `-${port}`;
};

/** The values of cookies with one of these names, in their order. */
function valuesOf(cookie: string, names: readonly string[]): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < cookie.length && values.length < maxCookies; ) {
    const semicolon = cookie.indexOf(";", at);
    const end = semicolon === -1 ? cookie.length : semicolon;
    const pair = cookie.slice(at, end).trim();
    const equals = pair.indexOf("=");
    if (names.includes(pair.slice(0, Math.max(0, equals)))) values.push(pair.slice(equals + 1));
    at = end + 1;
  }
  return values;
}

export type SessionCookies = ReturnType<typeof createSessionCookies>;

/**
 * The first halves of sessions, which browsers keep as cookies. Those ignore ports, and a cookie for a whole host has no path, so their
 * name has both: services of one host would overwrite each other's.
 * @param base the path of the service behind a reverse proxy.
 */
export function createSessionCookies(base: string) {
  const pathSuffix = base.replaceAll("/", "-");
  /** Over TLS under a name that only the whole host over TLS can set. */
  const nameOf = (host: string, isSecure: boolean): string =>
    `${isSecure ? "__Host-" : ""}steward${portSuffix(host)}${pathSuffix}`;

  /** Of the host that was asked for last: nearly always the same. */
  let known = { host: "", protocol: "", names: [""] };
  const namesFor = (host: string, protocol: string): readonly string[] => {
    if (known.host === host && known.protocol === protocol) return known.names;
    // Without TLS the service cannot know whether something before it speaks TLS with the browser.
    const names = [nameOf(host, true), ...(protocol === "https" ? [] : [nameOf(host, false)])];
    known = { host, protocol, names };
    return names;
  };

  const halvesIn = ({ headers, protocol }: FastifyRequest): readonly string[] => {
    const { cookie, host = "" } = headers;
    return cookie === undefined ? [] : valuesOf(cookie, namesFor(host, protocol));
  };

  return {
    /** The halves of a session in a request; undefined where both are missing. */
    presented: (request: FastifyRequest, takesTicket: boolean): PresentedSession | undefined => {
      const header = request.headers[headerName]?.toString();
      const { ticket } = takesTicket ? (request.query as Readonly<Record<string, unknown>>) : {};
      const cookies = halvesIn(request);
      if (header !== undefined) return { cookies, second: { kind: "secret", text: header } };
      // Given twice, it is a list and no ticket.
      if (ticket !== undefined)
        return { cookies, second: { kind: "ticket", text: typeof ticket === "string" ? ticket : "" } };
      return cookies.length === 0 ? undefined : { cookies, second: undefined };
    },

    /** Sends the first half of a session, as a cookie that ends with the browser; undefined removes it. */
    send: (request: FastifyRequest, reply: FastifyReply, half: string | undefined): void => {
      const isSecure = isHttps(request);
      const parts = [
        `${nameOf(request.headers.host ?? "", isSecure)}=${half ?? ""}`,
        "Path=/",
        "HttpOnly",
        "SameSite=Strict",
        ...(isSecure ? ["Secure"] : []),
        ...(half === undefined ? ["Max-Age=0"] : []),
      ];
      reply.header("set-cookie", parts.join("; "));
    },
  };
}

const foreign = (field: string, message: string): DomainError =>
  new DomainError("FORBIDDEN", message, { field, issue: "Foreign origin" });

/**
 * Refuses what a page that is not this service's own makes a browser send. The host guard has refused foreign hosts and origins
 * already; here also those that the settings admit, and the same host without TLS.
 * @throws DomainError `FORBIDDEN`.
 */
export function requireOwnPage(request: FastifyRequest): void {
  const { headers, method, protocol, record } = request;
  const { origin, "sec-fetch-site": site } = headers;
  if (site !== undefined && site !== "same-origin")
    throw foreign("Sec-Fetch-Site", "cannot use a session here: only pages of this service may");
  const isDowngraded = protocol === "https" && origin?.startsWith("http:") === true;
  if (record.foreignOrigin !== undefined || isDowngraded)
    throw foreign("Origin", "cannot use a session from another origin");
  if (origin === undefined && method !== "GET" && method !== "HEAD")
    throw foreign("Origin", "cannot use a session without Origin (browsers send it; programs use a key)");
}
