import type { Socket } from "node:net";
import type { Peer } from "./gate.ts";

/** Limits on requests, spans and values; what exceeds them is dropped and counted. */

/** Largest body on the wire: gRPC's default. */
export const maxBodyBytes = 4 * 1024 * 1024;
export const maxUnpackedBytes = 8 * 1024 * 1024;
/** Total size of bodies that arrive or wait at a time. */
export const maxWaitingBytes = 32 * 1024 * 1024;
/** Bodies that arrive over gRPC at a time, and the time limit of each. */
export const maxReading = 16;
export const readingMs = 10_000;

/** Exporters send 512 by default. */
export const maxRequestSpans = 10_000;
/** Resources and scopes of a request: empty ones cost time too. */
export const maxRequestGroups = 10_000;

/** The SDKs' defaults. */
export const maxAttributes = 128;
export const maxEvents = 128;
export const maxLinks = 128;
export const maxTextBytes = 4096;
/** Total size of the attributes, events and links of a span; of the attributes of a resource. */
export const maxSpanBytes = 64 * 1024;
/** Nesting of lists. */
export const maxDepth = 8;

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
export type Space = ReturnType<typeof createRoom>;

export function createRoom(most: number) {
  let left = most;
  const taken = new Map<Peer, number>();
  return {
    /** @returns false when there is no space. */
    take: (peer: Peer, count: number): boolean => {
      const own = (taken.get(peer) ?? 0) + count;
      if (count > left || own > most / 2) return false;
      left -= count;
      taken.set(peer, own);
      return true;
    },
    give: (peer: Peer, count: number): void => {
      left += count;
      const own = (taken.get(peer) ?? 0) - count;
      if (own > 0) taken.set(peer, own);
      else taken.delete(peer);
    },
  };
}

export interface SocketServer {
  readonly accept: (socket: Socket, peer: Peer) => void;
  readonly close: () => void;
}

interface Taken {
  readonly rejected: number;
  readonly message: string;
}

const varint = (value: number): readonly number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
};
const delimited = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), bytes]);

/** ExportTraceServiceResponse: empty when all was accepted. Encoded by hand, so that no library is loaded for it. */
export function takenReply({ rejected, message }: Taken): Buffer {
  if (rejected === 0) return Buffer.alloc(0);
  const partial = Buffer.concat([Buffer.from([1 << 3, ...varint(rejected)]), delimited(2, Buffer.from(message))]);
  return delimited(1, partial);
}

/** {@link takenReply} as JSON, where 64-bit integers are strings. */
export const takenReplyJson = ({ rejected, message }: Taken): string =>
  JSON.stringify(rejected === 0 ? {} : { partialSuccess: { rejectedSpans: String(rejected), errorMessage: message } });

/** google.rpc.Status, for a refusal over HTTP. */
export const refusalReply = (message: string): Buffer => delimited(2, Buffer.from(message));
export const refusalReplyJson = (message: string): string => JSON.stringify({ message });
