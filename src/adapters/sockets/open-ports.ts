import { isIP } from "node:net";
import { join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { OpenPort } from "#domain/ports/network.ts";
import { type ParsedSocket, parseSockets, states } from "./parse.ts";

/** DHCP clients wait at ports of their own for the answers of a server: they serve nobody. */
const clientPorts = new Set([68, 546]);

const isLoopback = (address: string): boolean => address.startsWith("127.") || address === "::1";

export interface NetworkFacts {
  /** Ports that the kernel gives out to whoever asks for none. */
  readonly givenOut: { readonly first: number; readonly last: number };
  readonly hasGlobalIpv6: boolean;
}

/** A socket on all of IPv6 takes IPv4 too, unless told otherwise, which the kernel does not show. */
function familiesOf(address: string, { hasGlobalIpv6 }: NetworkFacts): OpenPort["families"] {
  if (!address.includes(":")) return ["ipv4"];
  if (address !== "::") return ["ipv6"];
  return hasGlobalIpv6 ? ["ipv4", "ipv6"] : ["ipv4"];
}

/** UDP has no listening state: sockets without a peer count, unless the kernel chose their port. */
export function openPorts(
  sockets: { readonly listening: readonly ParsedSocket[]; readonly unconnected: readonly ParsedSocket[] },
  facts: NetworkFacts,
): readonly OpenPort[] {
  const { first, last } = facts.givenOut;
  const isGivenOut = (port: number): boolean => port >= first && port <= last;
  const tcp = sockets.listening.map((socket) => ({ protocol: "tcp" as const, ...socket }));
  const udp = sockets.unconnected
    .filter(({ port, remotePort }) => remotePort === 0 && !isGivenOut(port) && !clientPorts.has(port))
    .map((socket) => ({ protocol: "udp" as const, ...socket }));
  return [...tcp, ...udp]
    .filter(({ address }) => !isLoopback(address))
    .map(({ protocol, port, address, inode }) => ({
      protocol,
      port,
      address,
      families: familiesOf(address, facts),
      inode,
    }));
}

const everywhere = new Set(["0.0.0.0", "::"]);

/** Users whose sockets receive at this address, or at all addresses. */
export async function listenersAt(
  { host, port }: { readonly host: string; readonly port: number },
  procDir = "/proc",
): Promise<ReadonlySet<number>> {
  const texts = await Promise.all(["tcp", "tcp6"].map((name) => readTextOrEmpty(join(procDir, "net", name))));
  const sockets = parseSockets(texts.join(""), states.listen).filter((socket) => socket.port === port);
  const takes = (address: string): boolean => isIP(host) === 0 || address === host || everywhere.has(address);
  return new Set(sockets.filter(({ address }) => takes(address)).map(({ uid }) => uid));
}
