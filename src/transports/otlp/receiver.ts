import type { Socket } from "node:net";
import type { Taken } from "./reply.ts";

/** A body as it came over the wire. */
export interface TraceBody {
  readonly bytes: Uint8Array;
  readonly format: "protobuf" | "json";
  readonly isGzip: boolean;
}

/** Why a body is not taken at all. `overloaded`: sent again later it may be. */
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
export type TakeTraces = (body: TraceBody) => Promise<Taken>;

/** Bytes of bodies that arrive or wait, of all connections together. */
export interface Room {
  /** @returns false when there is no room for so many. */
  readonly take: (bytes: number) => boolean;
  readonly give: (bytes: number) => void;
}

export function createRoom(most: number): Room {
  let left = most;
  return {
    take(bytes) {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    },
    give(bytes) {
      left += bytes;
    },
  };
}

/** Serves a protocol on sockets that it is handed. */
export interface SocketServer {
  readonly accept: (socket: Socket) => void;
  readonly close: () => void;
}
