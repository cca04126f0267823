import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import type { FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";

/** Where clients reach the service, behind a reverse proxy. */
export interface PublicAddress {
  /** Without a slash at its end. */
  readonly url: string;
  readonly origin: string;
  readonly host: string;
  /** Its path, such as `/web1`; empty where the service has the whole host. */
  readonly base: string;
}

const firstSegment = (path: string): string => path.split("/")[1] ?? "";

/** First segments of the service's own paths: a request for one of them could be meant with the path or without. */
const ownSegments = new Set([
  firstSegment(apiBase),
  "console",
  ...Object.values<Operation>(operations).flatMap(({ base, path }) => (base === "root" ? [firstSegment(path)] : [])),
]);

const pathForm = /^(?:\/[A-Za-z0-9][A-Za-z0-9._~-]*)*$/;

/** @returns why it cannot be used, or the address. */
function parse(text: string): string | PublicAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    return "must be an address such as https://hosts.example.org/web1";
  const { origin, hostname, username, password, search, hash } = url;
  if (username !== "" || password !== "" || search !== "" || hash !== "")
    return "must consist of a scheme, a host, a port and a path only";
  const base = url.pathname.replace(/\/+$/, "");
  if (!pathForm.test(base)) return "must have a path of letters, digits and - . _ ~";
  if (ownSegments.has(firstSegment(base)))
    return `must not have a path that starts with /${firstSegment(base)}, as paths of the service itself do`;
  return { url: `${origin}${base}`, origin, host: hostname.replace(/^\[|\]$/g, ""), base };
}

export function publicAddressOf({ public_url: text }: Pick<Settings, "public_url">): PublicAddress | undefined {
  const address = text === undefined ? undefined : parse(text);
  return typeof address === "object" ? address : undefined;
}

export function publicUrlFaults({ public_url: text }: Pick<Settings, "public_url">, faultAt: FaultAt) {
  const why = text === undefined ? undefined : parse(text);
  return typeof why === "string" ? [faultAt(["public_url"], why)] : [];
}
