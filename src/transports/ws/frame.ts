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
