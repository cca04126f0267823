import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Caller } from "#contract/operation.ts";
import { roles } from "#contract/scopes.ts";

/** What Unix sockets are served by. */
export interface LocalServers {
  readonly members: Server;
  readonly administrator: Server;
}

/** Knows connections by the Unix socket that they came in over. */
export interface LocalPeers {
  /** Has to be told of the servers before they listen. */
  readonly watch: (servers: LocalServers) => void;
  /** Who connected, where the socket alone says so: the kernel lets nobody else open it. */
  readonly of: (socket: Socket) => Caller | undefined;
  /** What stands for the address of a connection over a Unix socket; undefined for one over TCP. */
  readonly addressOf: (socket: Socket) => string | undefined;
}

/** @param name of whoever may open the administrator's socket: `root`, or the `owner` of a service that somebody runs. */
export function createLocalPeers(name: string): LocalPeers {
  const caller: Caller = {
    keyId: name,
    keyName: name,
    credential: "socket",
    scopes: roles.admin,
    expiresAt: null,
  };
  const callers = new WeakMap<Socket, Caller | undefined>();
  return {
    watch({ members, administrator }) {
      members.on("connection", (socket: Socket) => callers.set(socket, undefined));
      administrator.on("connection", (socket: Socket) => callers.set(socket, caller));
    },
    of: (socket) => callers.get(socket),
    addressOf: (socket) => (callers.has(socket) ? "unix" : undefined),
  };
}
