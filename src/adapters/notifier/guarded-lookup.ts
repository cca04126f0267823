import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { NotificationFailed } from "#domain/notifications/ports.ts";

/** Whether an IP address is one where nobody is asked. */
export type IsForbidden = (address: string) => boolean;

export const forbidden = (): NotificationFailed =>
  new NotificationFailed("it leads to a link-local address, which is never asked", false);

/** Resolves names as the host does, without the addresses where nobody is asked. */
export const guardedLookup =
  (isForbidden: IsForbidden, resolve: LookupFunction = lookup): LookupFunction =>
  (host, options, callback) => {
    resolve(host, options, (error, found, family) => {
      if (error !== null) return callback(error, found, family);
      const addresses = typeof found === "string" ? [{ address: found, family: family ?? 0 }] : found;
      const allowed = addresses.filter(({ address }) => !isForbidden(address));
      if (allowed.length === 0) return callback(forbidden(), found, family);
      callback(null, typeof found === "string" ? found : allowed, family);
    });
  };

/** The host of a URL without the brackets that it has around an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

/** A name is looked up when it is connected to; an address is not. */
export const isForbiddenHost = (host: string, isForbidden: IsForbidden): boolean =>
  isIP(host) !== 0 && isForbidden(host);

/** @throws NotificationFailed when a name leads nowhere that may be asked. */
export function resolveHost(host: string, lookUp: LookupFunction): Promise<string> {
  if (isIP(host) !== 0) return Promise.resolve(host);
  return new Promise((resolve, reject) => {
    lookUp(host, { all: true }, (error, found) => {
      if (error !== null) return reject(error);
      const [first] = typeof found === "string" ? [{ address: found }] : found;
      if (first === undefined) reject(forbidden());
      else resolve(first.address);
    });
  });
}
