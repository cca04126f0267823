import { isIP, SocketAddress } from "node:net";
import type { FastifyRequest } from "fastify";

export function remoteAddressOf({ ip }: FastifyRequest): string | null {
  // The declared type excludes undefined, but a socket that was reset has no address.
  const known: string | undefined = ip;
  return known ?? null;
}

/** An IPv4 address that came in over a socket for both families. */
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** An address in canonical form, without zone or port; undefined for anything else. */
function canonical(text: string): string | undefined {
  const [plain = text] = text.split("%");
  const family = isIP(plain);
  if (family === 4) return plain;
  if (family === 6) return new SocketAddress({ address: plain, family: "ipv6" }).address;
  return SocketAddress.parse(text)?.address;
}

/** What clients are counted by: the address, or for IPv6 its network of 64 bits; "" for anything that is not an address. */
export function addressGroup(text: string): string {
  const address = canonical(text);
  if (address === undefined) return "";
  const v4 = mapped.exec(address)?.[1];
  if (v4 !== undefined || isIP(address) === 4) return v4 ?? address;
  const [head = "", tail] = address.split("::");
  const left = head.split(":").filter(Boolean);
  const right = tail?.split(":").filter(Boolean) ?? [];
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  const groups = tail === undefined ? left : [...left, ...zeros, ...right];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
