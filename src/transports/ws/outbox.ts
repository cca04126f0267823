import type { DroppedFrame, ErrorFrame, StreamError } from "#contract/streams.ts";
import { counted } from "#kernel/text.ts";

/** First byte of a text message that is one frame (RFC 6455 §5.2). */
const textMessage = 0x81;
/** Lengths up to here are in the second byte; the next two values announce 2 or 8 bytes of length. */
const maxShortLength = 125;
const maxMediumLength = 0xffff;

/** An unmasked text message on the wire, made once for any number of connections. */
export function encodeTextFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const headerBytes = length <= maxShortLength ? 2 : length <= maxMediumLength ? 4 : 10;
  // Not from the shared pool: a frame that waits for a slow client would keep all of it.
  const frame = Buffer.allocUnsafeSlow(headerBytes + length);
  frame[0] = textMessage;
  if (headerBytes === 2) frame[1] = length;
  else if (headerBytes === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, headerBytes);
  return frame;
}

export function encodeErrorFrame({ code, message, details }: StreamError): Buffer {
  const error = { code, message, ...(details && { details: { ...details } }) };
  return encodeTextFrame(JSON.stringify({ type: "error", message, error } satisfies ErrorFrame));
}

export function encodeDroppedFrame(dropped: number): Buffer {
  const message = `${counted(dropped, "frame was", "frames were")} dropped here: the connection is too slow`;
  return encodeTextFrame(JSON.stringify({ type: "dropped", message, dropped } satisfies DroppedFrame));
}

export interface FrameSink {
  readonly write: (bytes: Uint8Array) => void;
  /** Whether it should not get more before it has sent what it has. */
  readonly isFull: () => boolean;
}

const outboxBounds = { frames: 4096, bytes: 2 * 1024 * 1024 } as const;

/** Frames are joined up to this size: one write costs more than the copy. */
const joinedBytes = 64 * 1024;

const totalBytes = (frames: readonly Uint8Array[]): number => {
  let bytes = 0;
  for (const frame of frames) bytes += frame.byteLength;
  return bytes;
};

/** Joins frames for a write, undefined where that is too big. The last result is kept: one list goes to many clients. */
export function createJoiner(): (frames: readonly Uint8Array[]) => Uint8Array | undefined {
  let last: { readonly frames: readonly Uint8Array[]; readonly joined: Uint8Array | undefined } | undefined;
  return (frames) => {
    const [first] = frames;
    if (frames.length === 1) return first;
    if (last?.frames === frames) return last.joined;
    last = { frames, joined: totalBytes(frames) > joinedBytes ? undefined : Buffer.concat(frames) };
    return last.joined;
  };
}

/** The bounded queue of one client. Past the bounds the oldest frames are dropped, and a frame with their number is sent. */
export function createOutbox(ports: {
  readonly sink: FrameSink;
  readonly join: (frames: readonly Uint8Array[]) => Uint8Array | undefined;
  readonly encodeDropped: (count: number) => Uint8Array;
  readonly onDropped: (count: number) => void;
  readonly bounds?: { readonly frames: number; readonly bytes: number };
}) {
  const { sink, join, encodeDropped, onDropped, bounds = outboxBounds } = ports;
  /** Starts at `head`; entries before it are cleared, so that they can be collected. */
  let queue: (Uint8Array | undefined)[] = [];
  let head = 0;
  let bytes = 0;
  let lost = 0;

  const size = (): number => queue.length - head;

  const takeFirst = (): Uint8Array | undefined => {
    const frame = queue[head];
    if (frame === undefined) return undefined;
    queue[head] = undefined;
    head += 1;
    bytes -= frame.byteLength;
    if (head === queue.length || head >= bounds.frames) {
      queue = queue.slice(head);
      head = 0;
    }
    return frame;
  };

  const keep = (frames: readonly Uint8Array[], from: number): void => {
    for (const frame of from === 0 ? frames : frames.slice(from)) {
      queue.push(frame);
      bytes += frame.byteLength;
    }
    const before = lost;
    // A single frame over the bound is still sent.
    while (size() > bounds.frames || (bytes > bounds.bytes && size() > 1)) {
      takeFirst();
      lost += 1;
    }
    if (lost > before) onDropped(lost - before);
  };

  return {
    send: (frames: readonly Uint8Array[]) => {
      if (size() > 0 || lost > 0 || sink.isFull()) return keep(frames, 0);
      const joined = join(frames);
      if (joined !== undefined) return sink.write(joined);
      let at = 0;
      for (; at < frames.length && !sink.isFull(); at += 1) {
        const frame = frames[at];
        if (frame !== undefined) sink.write(frame);
      }
      if (at < frames.length) keep(frames, at);
    },
    /** Sends what waits; to be called when the sink has space again. */
    flush: (): void => {
      while (!sink.isFull()) {
        const batch: Uint8Array[] = [];
        if (lost > 0) batch.push(encodeDropped(lost));
        lost = 0;
        let total = 0;
        for (let frame = takeFirst(); frame !== undefined; frame = total < joinedBytes ? takeFirst() : undefined) {
          batch.push(frame);
          total += frame.byteLength;
        }
        const [first] = batch;
        if (first === undefined) return;
        sink.write(batch.length === 1 ? first : Buffer.concat(batch));
      }
    },
    isCongested: (): boolean => size() > 0 || lost > 0 || sink.isFull(),
  };
}
