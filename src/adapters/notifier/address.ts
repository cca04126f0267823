import { isIP, type LookupFunction } from "node:net";
import { NotificationFailed } from "#domain/ports/notifications.ts";

export const forbidden = (): NotificationFailed =>
  new NotificationFailed("it leads to a link-local address, which is never asked", false);

export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

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
