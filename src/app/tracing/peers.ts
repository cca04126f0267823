import type { Socket } from "node:net";
import { createPeerLookup } from "#adapters/sockets/peers.ts";
import { type Peer, unknownPeer } from "#transports/otlp/gate.ts";

/** In the sandbox the kernel names root, the service's user, and all others by one number. */
export function createPeers(): (socket: Socket) => Promise<Peer> {
  const lookup = createPeerLookup();
  return async (socket) => (await lookup(socket)) ?? unknownPeer;
}
