import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Caller } from "#contract/operation.ts";
import { roles } from "#contract/scopes.ts";

export interface LocalServers {
  readonly members: Server;
  readonly administrator: Server;
}

export type LocalPeers = ReturnType<typeof createLocalPeers>;

/** @param name of whoever may open the administrator's socket: `root`, or the `owner` of a user's service. */
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
