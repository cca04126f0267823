import type { Server } from "node:http";
import type { Socket } from "node:net";
import { isIP, SocketAddress } from "node:net";
import type { FastifyRequest } from "fastify";
import type { Caller } from "#contract/operation.ts";
import { roles } from "#contract/scopes.ts";

export interface LocalServers {
  readonly members: Server;
  readonly administrator: Server;
}

export type LocalPeers = ReturnType<typeof createLocalPeers>;

/** @param name of anyone who may open the administrator's socket: `root`, or the `owner` of a user's service. */
export function createLocalPeers(name: string) {
  const caller: Caller = {
    keyId: name,
    keyName: name,
    credential: "socket",
    scopes: roles.admin,
    expiresAt: null,
  };
  const callers = new WeakMap<Socket, Caller | undefined>();
  return {
    /** To be called before the servers listen. */
    watch: ({ members, administrator }: LocalServers): void => {
      members.on("connection", (socket: Socket) => callers.set(socket, undefined));
      administrator.on("connection", (socket: Socket) => callers.set(socket, caller));
    },
    /** The caller, where the socket alone identifies it: the kernel lets nobody else open it. */
    of: (socket: Socket): Caller | undefined => callers.get(socket),
    addressOf: (socket: Socket): string | undefined => (callers.has(socket) ? "unix" : undefined),
  };
}

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
