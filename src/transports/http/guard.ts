import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { DomainError } from "#domain/common/error.ts";

/** The name in a Host header without its port; undefined when it is malformed. */
function hostName(header: string): string | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?$/.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, "");
}

/**
 * Whether a foreign page embeds something of this service as an image, a script or the like: then browsers send no Origin, but
 * do send the client certificate. Following a link is allowed.
 */
const isOfForeignPage = ({ "sec-fetch-site": site, "sec-fetch-mode": mode }: IncomingHttpHeaders): boolean =>
  (site === "cross-site" || site === "same-site") && mode !== "navigate";

/** @returns the origin of a page elsewhere that the settings admit; undefined for all others. @throws DomainError to refuse. */
export type HostGuard = (headers: IncomingHttpHeaders) => string | undefined;

/**
 * Refuses requests that a foreign page made a browser send. DNS rebinding points a foreign name at this machine, so only known
 * names are served; such a page cannot forge an IP address as Host, nor Origin.
 */
export function createHostGuard(
  allowedHosts: readonly string[],
  certificateNames: () => readonly string[],
  corsOrigins: readonly string[] = [],
  publicAddress?: { readonly host: string; readonly origin: string },
): HostGuard {
  const allowed = new Set([
    "localhost",
    ...(publicAddress === undefined ? [] : [publicAddress.host]),
    ...allowedHosts.map((name) => name.toLowerCase()),
  ]);
  const admitted = new Set(corsOrigins);
  return (headers) => {
    const { host, origin } = headers;
    const name = host === undefined ? undefined : hostName(host);
    if (name === undefined) {
      throw new DomainError("VALIDATION_ERROR", "cannot accept Host: missing or malformed", {
        field: "Host",
        issue: "Missing or malformed",
      });
    }
    if (!allowed.has(name) && isIP(name) === 0 && !certificateNames().includes(name)) {
      throw new DomainError(
        "FORBIDDEN",
        `cannot serve host ${name}: not a name of this service (add it to allowed_hosts)`,
        {
          field: "Host",
          issue: "Not a name of this service",
        },
      );
    }
    // A reverse proxy may put another name in Host than the page has.
    const isOwn =
      (origin !== undefined && origin === publicAddress?.origin) ||
      origin === `http://${host}` ||
      origin === `https://${host}`;
    if (origin === undefined ? !isOfForeignPage(headers) : isOwn) return undefined;
    if (origin !== undefined && admitted.has(origin)) return origin;
    throw new DomainError("FORBIDDEN", "cannot serve a foreign origin", { field: "Origin", issue: "Foreign origin" });
  };
}

/** Headers that proxies, load balancers and CDNs add. */
const proxyHeader =
  /^(?:forwarded|via|max-forwards|cdn-loop|front-end-https|surrogate-capability|(?:true-|x-|x-cluster-|x-original-|fastly-|wl-proxy-|incap-|fly-)?client-?ip)$|^(?:x-forwarded|x-real-|x-proxy|x-original-|x-envoy-|x-amzn-|x-amz-cf-|x-azure-|x-appengine-|x-goog-|x-akamai-|x-varnish|x-scheme|x-ssl|x-client-|cf-)/;

export const isRelayed = (headers: IncomingHttpHeaders): boolean =>
  headers.origin !== undefined ||
  headers["sec-fetch-site"] !== undefined ||
  Object.keys(headers).some((name) => proxyHeader.test(name));

/** Headers that scrapers, command lines and browsers send. Any other may be a proxy's. */
const ownHeader =
  /^(?:host|user-agent|accept|accept-(?:charset|encoding|language)|connection|keep-alive|cache-control|pragma|priority|dnt|cookie|authorization|x-api-key|content-(?:length|type)|traceparent|tracestate|baggage|upgrade-insecure-requests|x-prometheus-scrape-timeout-seconds|sec-.*)$/;

const isLoopbackName = (name: string): boolean => name === "localhost" || name === "::1" || /^127\./.test(name);

/**
 * Whether a program on this machine asks directly, as far as the request can tell: from a loopback address, for a loopback name,
 * over HTTP/1.1, without a header that a proxy may have added. A local proxy that passes requests on unchanged cannot be distinguished
 * from it when its client asks for a loopback name.
 */
export function isLocalPeer({
  socket,
  headers,
  httpVersion,
}: Pick<IncomingMessage, "headers" | "httpVersion"> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
}): boolean {
  const address = socket.remoteAddress?.replace(/^::ffff:/, "") ?? "";
  const name = headers.host === undefined ? undefined : hostName(headers.host);
  return (
    isLoopbackName(address) &&
    name !== undefined &&
    isLoopbackName(name) &&
    httpVersion !== "1.0" &&
    Object.keys(headers).every((each) => ownHeader.test(each))
  );
}
