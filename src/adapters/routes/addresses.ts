import { networkInterfaces } from "node:os";
import type { Exec } from "#adapters/exec/index.ts";
import type { Link } from "#domain/ports/network-state.ts";
import { isRecord, isString, recordsIn } from "#kernel/values.ts";

type Addresses = Link["addresses"];

const families = new Map([
  ["inet", "ipv4"],
  ["inet6", "ipv6"],
] as const);

/** `ip -json address show`: the addresses of all links, also of those that are down. Undefined for anything else. */
export function parseAddresses(text: string): ReadonlyMap<string, Addresses> | undefined {
  let links: unknown;
  try {
    links = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(links)) return undefined;
  return new Map(
    links.filter(isRecord).flatMap(({ ifname, addr_info: list }) => {
      if (!isString(ifname)) return [];
      const addresses = recordsIn(list).flatMap(({ family: kind, local, address, prefixlen, scope, label }) => {
        const family = families.get(kind as "inet");
        if (family === undefined || !isString(local)) return [];
        return {
          ...{ family, address: local, prefixLength: Number(prefixlen), scope: String(scope) },
          ...(isString(address) && { peer: address }),
          ...(isString(label) && label !== ifname && { label }),
        };
      });
      return [[ifname, addresses] as const];
    }),
  );
}

function scopeOf(address: string): string {
  if (address === "::1" || address.startsWith("127.")) return "host";
  return /^fe[89ab]|^169\.254\./i.test(address) ? "link" : "global";
}

/** Those of links that are up and have a carrier, without labels and peers: what Node finds, where there is no `ip`. */
const addressesOfNode = (): ReadonlyMap<string, Addresses> =>
  new Map(
    Object.entries(networkInterfaces()).map(([name, list]) => [
      name,
      (list ?? []).map(({ family, address, cidr }) => ({
        family: family === "IPv4" ? "ipv4" : "ipv6",
        address,
        prefixLength: Number(cidr?.split("/")[1] ?? 0),
        scope: scopeOf(address),
      })),
    ]),
  );

/** Addresses by the names of their links. */
export async function readAddresses(exec: Exec | undefined): Promise<ReadonlyMap<string, Addresses>> {
  const ended = await exec?.(["ip", "-json", "address", "show"], { timeoutMs: 10_000 }).catch(() => undefined);
  return (ended?.exitCode === 0 ? parseAddresses(ended.stdout) : undefined) ?? addressesOfNode();
}
