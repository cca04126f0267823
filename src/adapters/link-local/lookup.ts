import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { isLinkLocal } from "./address.ts";

/**
 * Resolves names as the host does, without the addresses where nobody is asked. A name may have such beside others: multicast
 * DNS tells all that a host has.
 * @param refusal what is wrong where there are no others.
 */
export const guardedLookup =
  (refusal: (address: string) => Error, resolve: LookupFunction = lookup): LookupFunction =>
  (host, options, callback) => {
    resolve(host, options, (error, found, family) => {
      if (error !== null) return callback(error, found, family);
      const addresses = typeof found === "string" ? [{ address: found, family: family ?? 0 }] : found;
      const allowed = addresses.filter(({ address }) => !isLinkLocal(address));
      const [refused] = addresses;
      if (allowed.length === 0) return callback(refusal(refused?.address ?? host), found, family);
      callback(null, typeof found === "string" ? found : allowed, family);
    });
  };
