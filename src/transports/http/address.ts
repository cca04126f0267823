import { isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";

/** The address of a client; null once its connection is gone and nobody has asked before. */
export function remoteAddressOf({ ip }: FastifyRequest): string | null {
  // The framework has it as a string always; a socket that was reset has none.
  const known: string | undefined = ip;
  return known ?? null;
}

/** An IPv4 address that came in over a socket for both families. */
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The address, or for IPv6 its network of 64 bits: whoever has one address there has them all.
 * @returns the text to count by.
 */
export function addressGroup(address: string): string {
  const v4 = mapped.exec(address)?.[1];
  if (v4 !== undefined) return v4;
  const [plain = address] = address.split("%");
  if (!isIPv6(plain)) return address;
  const [head = "", tail] = plain.split("::");
  const left = head.split(":").filter(Boolean);
  const right = tail?.split(":").filter(Boolean) ?? [];
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  const groups = tail === undefined ? left : [...left, ...zeros, ...right];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
