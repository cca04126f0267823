import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Caller } from "#contract/operation.ts";
import { roles } from "#contract/scopes.ts";

export interface LocalServers {
  readonly members: Server;
  readonly administrator: Server;
}

export interface LocalPeers {
  /** To be called before the servers listen. */
  readonly watch: (servers: LocalServers) => void;
  /** The caller, where the socket alone identifies it: the kernel lets nobody else open it. */
  readonly of: (socket: Socket) => Caller | undefined;
  /** The address of a connection over a Unix socket; undefined over TCP. */
  readonly addressOf: (socket: Socket) => string | undefined;
}

/** @param name of whoever may open the administrator's socket: `root`, or the `owner` of a user's service. */
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
