import { isIP } from "node:net";
import { join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { ListeningPort, OpenPort } from "#domain/ports/network.ts";
import { type ParsedSocket, parseSockets, states } from "./parse.ts";

/** DHCP clients wait at ports of their own for the answers of a server: they serve nobody. */
const clientPorts = new Set([68, 546]);

const isLoopback = (address: string): boolean => address.startsWith("127.") || address === "::1";

export interface NetworkFacts {
  /** Ports that the kernel gives out to anyone who asks for none. */
  readonly givenOut: { readonly first: number; readonly last: number };
  readonly hasGlobalIpv6: boolean;
}

/** A socket on all of IPv6 takes IPv4 too, unless set otherwise, which the kernel does not show. */
function familiesOf(address: string, { hasGlobalIpv6 }: NetworkFacts): OpenPort["families"] {
  if (!address.includes(":")) return ["ipv4"];
  if (address !== "::") return ["ipv6"];
  return hasGlobalIpv6 ? ["ipv4", "ipv6"] : ["ipv4"];
}

interface Sockets {
  readonly listening: readonly ParsedSocket[];
  readonly unconnected: readonly ParsedSocket[];
}

const isIn = ({ first, last }: NetworkFacts["givenOut"], port: number): boolean => port >= first && port <= last;

/**
 * UDP knows no listening, so there those count that have no peer and a port that somebody chose: a port that the kernel gave
 * out belongs to somebody who asks, not to somebody who answers.
 */
function waiting({ listening, unconnected }: Sockets, givenOut: NetworkFacts["givenOut"]) {
  const tcp = listening.map((socket) => ({ protocol: "tcp" as const, ...socket }));
  const udp = unconnected
    .filter(({ port, remotePort }) => remotePort === 0 && !isIn(givenOut, port) && !clientPorts.has(port))
    .map((socket) => ({ protocol: "udp" as const, ...socket }));
  return [...tcp, ...udp];
}

/** The sockets that others reach, or programs of this host. */
export const listeningPorts = (sockets: Sockets, givenOut: NetworkFacts["givenOut"]): readonly ListeningPort[] =>
  waiting(sockets, givenOut).map(({ protocol, port, address, inode }) => ({
    protocol,
    port,
    address,
    inode,
    isLoopback: isLoopback(address),
    mayBeGivenOut: isIn(givenOut, port),
  }));

/** The sockets that others reach. */
export function openPorts(sockets: Sockets, facts: NetworkFacts): readonly OpenPort[] {
  return waiting(sockets, facts.givenOut)
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

interface Address {
  readonly host: string;
  readonly port: number;
}

/** The sockets that receive at this address, or at all addresses. */
export async function socketsAt({ host, port }: Address, procDir: string): Promise<readonly ParsedSocket[]> {
  const texts = await Promise.all(["tcp", "tcp6"].map((name) => readTextOrEmpty(join(procDir, "net", name))));
  const takes = (address: string): boolean =>
    isIP(host) === 0 || everywhere.has(host) || address === host || everywhere.has(address);
  return parseSockets(texts.join(""), states.listen).filter((socket) => socket.port === port && takes(socket.address));
}

/** Users whose sockets receive at this address, or at all addresses. */
export const listenersAt = async (address: Address, procDir = "/proc"): Promise<ReadonlySet<number>> =>
  new Set((await socketsAt(address, procDir)).map(({ uid }) => uid));
