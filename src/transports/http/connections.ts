import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { BlockList, isIPv6, type Socket } from "node:net";
import { addressGroup } from "./peers.ts";
import { endsOf } from "./tls.ts";

export interface ConnectionLimits {
  readonly total: number;
  /** Of one address, or of one IPv6 network of 64 bits. */
  readonly perAddress: number;
}

const mostOverTcp = 4096;
const mostOfMembers = 256;
const mostOfAdministrator = 128;
const keptFiles = 128;
const fewest = 4;

const clamp = (count: number, most: number): number => Math.max(fewest, Math.min(most, Math.floor(count)));

/**
 * Divides the open files of this process; a reserve is kept for files, the bus and commands. The Unix sockets have shares of
 * their own, so that connections over TCP cannot take them.
 */
export function connectionLimits(softLimit = openFileLimit()) {
  const available = Math.max(6 * fewest, softLimit - keptFiles);
  const administrator = clamp(available / 16, mostOfAdministrator);
  const members = clamp(available / 8, mostOfMembers);
  const tcp = Math.min(mostOverTcp, available - administrator - members);
  return {
    tcp: { total: tcp, perAddress: Math.ceil(tcp / 2) },
    members: { total: members, perAddress: members },
    administrator: { total: administrator, perAddress: administrator },
  };
}

const openFileLimit = (): number =>
  Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? mostOverTcp);

/** All loopback addresses count as one client: any local user can connect from each of them. */
const loopback = "loopback";
const isLoopback = (group: string): boolean => /^127\./.test(group) || group === addressGroup("::1");

function groupOf({ remoteAddress }: Socket): string {
  // A Unix socket has none, nor has a client that has hung up already.
  if (remoteAddress === undefined) return "";
  const group = addressGroup(remoteAddress);
  return isLoopback(group) ? loopback : group;
}

/** @param networks addresses, and networks in CIDR notation. */
function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const each of networks) {
    const [address = "", prefix] = each.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

interface Connection {
  readonly socket: Socket;
  readonly group: Group;
  /** Requests being answered; a WebSocket is one that does not end. */
  requests: number;
}

interface Group {
  readonly name: string;
  /** Connections without an accepted credential so far. */
  readonly anonymous: Set<Connection>;
  readonly admitted: Set<Connection>;
}

const sizeOf = ({ anonymous, admitted }: Group): number => anonymous.size + admitted.size;

/** The oldest idle one of so many of the oldest. */
function firstIdle(connections: Iterable<Connection>, most = Number.POSITIVE_INFINITY): Connection | undefined {
  let seen = 0;
  for (const connection of connections) {
    if (connection.requests === 0) return connection;
    seen += 1;
    if (seen >= most) break;
  }
  return undefined;
}

/** Among fewer nobody is taken for a newcomer. */
const manyAnonymous = 8;

/** Who has just connected is idle too, and about to show a key: where the older half of many is busy the oldest goes instead. */
const anonymousVictim = ({ anonymous }: Group): Connection | undefined =>
  firstIdle(anonymous, anonymous.size < manyAnonymous ? anonymous.size : anonymous.size / 2) ??
  anonymous.values().next().value;
const idleVictim = ({ admitted }: Group): Connection | undefined => firstIdle(admitted);

export type Connections = ReturnType<typeof watchConnections>;

function createShares(limits: ConnectionLimits, trustedProxies: readonly string[], onFull: () => void) {
  const proxies = listOf(trustedProxies);
  const groups = new Map<string, Group>();
  let total = 0;

  const isProxy = ({ remoteAddress: address }: Socket): boolean =>
    address !== undefined && proxies.check(address, isIPv6(address) ? "ipv6" : "ipv4");

  const release = (connection: Connection): void => {
    const { group } = connection;
    if (!group.anonymous.delete(connection) && !group.admitted.delete(connection)) return;
    total -= 1;
    if (sizeOf(group) === 0) groups.delete(group.name);
  };

  const ofLargest = (victimOf: (group: Group) => Connection | undefined): Connection | undefined => {
    let found: { readonly size: number; readonly victim: Connection } | undefined;
    for (const group of groups.values()) {
      const size = sizeOf(group);
      if (found !== undefined && size <= found.size) continue;
      const victim = victimOf(group);
      if (victim !== undefined) found = { size, victim };
    }
    return found?.victim;
  };

  const makeSpace = (victim: Connection | undefined): boolean => {
    onFull();
    if (victim === undefined) return false;
    release(victim);
    victim.socket.destroy();
    return true;
  };

  const hasSpace = (group: Group | undefined, socket: Socket): boolean => {
    const share = isProxy(socket) ? limits.total : limits.perAddress;
    if (group !== undefined && sizeOf(group) >= share) return makeSpace(anonymousVictim(group) ?? idleVictim(group));
    return total < limits.total || makeSpace(ofLargest(anonymousVictim) ?? ofLargest(idleVictim));
  };

  return {
    release,
    add(socket: Socket): Connection | undefined {
      const name = groupOf(socket);
      if (!hasSpace(groups.get(name), socket)) return undefined;
      const group = groups.get(name) ?? { name, anonymous: new Set(), admitted: new Set() };
      groups.set(name, group);
      const connection = { socket, group, requests: 0 };
      group.anonymous.add(connection);
      total += 1;
      return connection;
    },
    isFull(): boolean {
      const local = groups.get(loopback);
      return total >= limits.total || (local !== undefined && sizeOf(local) >= limits.perAddress);
    },
  };
}

/**
 * Bounds the connections of a server, in total and by address. Where there is one too many, another makes room: anonymous
 * before admitted, idle before busy but for the younger half of the anonymous, oldest first, from the address with the most. Admitted connections with a request and
 * WebSockets are never ended; where nothing else is left, the new one is refused. Connections count from the first packet,
 * so TLS handshakes that never end are included.
 * @param ports.trustedProxies addresses that may have all connections: they speak for many clients.
 */
export function watchConnections(
  server: Server,
  ports: {
    readonly limits: ConnectionLimits;
    readonly trustedProxies?: readonly string[];
    readonly onFull: () => void;
  },
) {
  const shares = createShares(ports.limits, ports.trustedProxies ?? [], ports.onFull);
  const known = new WeakMap<Socket, Connection>();
  const byEnds = new Map<string, Connection>();
  const open = new Set<Socket>();
  let answered = 0;

  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    const connection = shares.add(socket);
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    known.set(socket, connection);
    const ends = endsOf(socket);
    byEnds.set(ends, connection);
    socket.once("close", () => {
      shares.release(connection);
      if (byEnds.get(ends) === connection) byEnds.delete(ends);
    });
  });
  server.on("secureConnection", (socket: Socket) => {
    const connection = byEnds.get(endsOf(socket));
    if (connection !== undefined) known.set(socket, connection);
  });
  server.on("request", ({ socket }, response) => {
    const connection = known.get(socket);
    if (connection === undefined) return;
    connection.requests += 1;
    response.on("close", () => {
      connection.requests -= 1;
      if (response.writableFinished) answered += 1;
    });
  });
  server.on("upgrade", ({ socket }) => {
    const connection = known.get(socket);
    if (connection !== undefined) connection.requests += 1;
  });

  return {
    admitted(socket: Socket): void {
      const connection = known.get(socket);
      if (connection?.group.anonymous.delete(connection)) connection.group.admitted.add(connection);
    },
    count: () => open.size,
    answered: () => answered,
    /** Whether another connection from this machine would end others or be refused. */
    isFull: () => shares.isFull(),
    /** Ends every connection at once, also those that are not HTTP. */
    cut(): void {
      for (const socket of open) socket.destroy();
    },
  };
}
