import type { Socket } from "node:net";
import type { Peer } from "./gate.ts";
import type { Taken } from "./reply.ts";

export interface TraceBody {
  readonly bytes: Uint8Array;
  readonly format: "protobuf" | "json";
  readonly isGzip: boolean;
}

export interface ReceivedBody extends TraceBody {
  readonly peer: Peer;
}

/** `overloaded`: sent again later it may be accepted. */
export type RefusalKind = "malformed" | "too_large" | "overloaded" | "failed";

export class TracesRefused extends Error {
  override readonly name = "TracesRefused";
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Keeps the spans of a body. @throws TracesRefused */
export type TakeTraces = (body: ReceivedBody) => Promise<Taken>;

/** A shared capacity of which one peer may have half. */
export type Room = ReturnType<typeof createRoom>;

export function createRoom(most: number) {
  let left = most;
  const taken = new Map<Peer, number>();
  return {
    /** @returns false when there is no room. */
    take(peer: Peer, count: number): boolean {
      const own = (taken.get(peer) ?? 0) + count;
      if (count > left || own > most / 2) return false;
      left -= count;
      taken.set(peer, own);
      return true;
    },
    give(peer: Peer, count: number): void {
      left += count;
      const own = (taken.get(peer) ?? 0) - count;
      if (own > 0) taken.set(peer, own);
      else taken.delete(peer);
    },
  };
}

/** Serves a protocol on given sockets. */
export interface SocketServer {
  readonly accept: (socket: Socket, peer: Peer) => void;
  readonly close: () => void;
}
