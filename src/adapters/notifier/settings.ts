import { isIP, type LookupFunction } from "node:net";
import { readRegularFile, readSecretFile } from "#adapters/files/index.ts";
import { NotificationFailed } from "#domain/ports/notifications.ts";
import { errnoCode, errorMessage } from "#kernel/errors.ts";

export const forbidden = (): NotificationFailed =>
  new NotificationFailed("it leads to a link-local address, which is never asked", false);

export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

/** All addresses of a host, in the order in which they are to be tried. */
export function resolveHost(host: string, lookUp: LookupFunction): Promise<readonly [string, ...string[]]> {
  if (isIP(host) !== 0) return Promise.resolve([host]);
  return new Promise((resolve, reject) => {
    lookUp(host, { all: true }, (error, found) => {
      if (error !== null) return reject(error);
      const [first, ...others] = typeof found === "string" ? [{ address: found }] : found;
      if (first === undefined) reject(forbidden());
      else resolve([first.address, ...others.map(({ address }) => address)]);
    });
  });
}

/** Failures of the network in words that name no address. */
const networkWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was reset",
  ETIMEDOUT: "no answer in time",
  ENOTFOUND: "its name does not exist",
  EAI_AGAIN: "its name cannot be resolved now",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
};

/** Where several addresses were tried, the first failure speaks for all. */
const firstCode = (error: unknown): string | undefined =>
  error instanceof AggregateError ? firstCode(error.errors[0]) : errnoCode(error);

const isTlsCode = (code: string): boolean =>
  /CERT|^ERR_(?:TLS|SSL)|^(?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)|^EPROTO$/.test(code);

export function failureWords(error: unknown): string {
  const code = firstCode(error);
  if (code === undefined) return "it cannot be reached";
  if (isTlsCode(code)) return `its TLS certificate is not trusted (${code})`;
  return networkWords[code] ?? `it cannot be reached (${code})`;
}

/** The refusal names the file and never what is in it. The file may be corrected while the service runs. */
function orFailed<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new NotificationFailed(`cannot use ${path}: ${errorMessage(error)}`, true);
  }
}

/** Read each time, so that a new secret takes effect at once. @throws NotificationFailed */
export const readSecret = (path: string): string => orFailed(path, () => readSecretFile(path));

export const readCaFile = (path: string): string =>
  orFailed(path, () => readRegularFile(path).content.toString("utf8"));

/** A secret that goes into a header. @throws NotificationFailed */
export function toToken(text: string, path: string): string {
  if (/^[\x20-\x7e]+$/.test(text)) return text;
  throw new NotificationFailed(`cannot use ${path}: it contains characters that are not allowed in a header`, true);
}

/** The address of a webhook, which is the secret. @throws NotificationFailed */
export function webhookUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new NotificationFailed("the webhook's file does not hold an address (http or https)", true);
  return url;
}

/** A path of a service whose address the settings have, below the path of that address. */
export const serviceUrl = (base: string, path: string): URL => new URL(`${base.replace(/\/+$/, "")}${path}`);
