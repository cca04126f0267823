import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Cloud metadata services, and hosts of the same link only. */
const linkLocal = new BlockList();
linkLocal.addSubnet("169.254.0.0", 16, "ipv4");
linkLocal.addSubnet("fe80::", 10, "ipv6");
// The same IPv4 addresses as IPv6 writes them: mapped, and behind the well-known prefix of NAT64 (RFC 6052).
linkLocal.addSubnet("::ffff:169.254.0.0", 112, "ipv6");
linkLocal.addSubnet("64:ff9b::169.254.0.0", 112, "ipv6");
// Where the instance metadata of AWS and of Google answers over IPv6.
linkLocal.addAddress("fd00:ec2::254", "ipv6");
linkLocal.addAddress("fd20:ce::254", "ipv6");

export function isLinkLocal(host: string): boolean {
  const [address = ""] = host.replace(/^\[(.*)\]$/, "$1").split("%");
  const version = isIP(address);
  return version !== 0 && linkLocal.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** A name may resolve to link-local addresses beside others: multicast DNS returns all of a host. */
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
