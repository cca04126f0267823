/** Lines that are distinguished by their number, in digits of one width so that all are of one length. */
const digits = 9;
const marker = "line ";

export const textOfLine = (number: number, length: number): string =>
  `${marker}${String(number).padStart(digits, "0")} ${"abcdefghi ".repeat(Math.ceil(length / 10))}`.slice(0, length);

const markerBytes = Buffer.from(marker);
const zero = 0x30;

/** Finds the number of a line in the bytes of a frame. It mostly stands where it stood in the last one. */
export function createNumberReader(): (bytes: Buffer, start: number, end: number) => number | undefined {
  let place = 0;
  const readAt = (bytes: Buffer, at: number): number | undefined => {
    let number = 0;
    for (let index = at; index < at + digits; index += 1) {
      const digit = (bytes[index] ?? 0) - zero;
      if (digit < 0 || digit > 9) return undefined;
      number = number * 10 + digit;
    }
    return number;
  };
  const isMarkedAt = (bytes: Buffer, at: number): boolean => {
    for (let index = 0; index < markerBytes.length; index += 1) {
      if (bytes[at + index] !== markerBytes[index]) return false;
    }
    return true;
  };
  return (bytes, start, end) => {
    if (!isMarkedAt(bytes, start + place)) {
      const found = bytes.indexOf(markerBytes, start);
      if (found === -1 || found >= end) return undefined;
      place = found - start;
    }
    return readAt(bytes, start + place + markerBytes.length);
  };
}

/** Frames of a server as RFC 6455 §5.2 has them: whole messages, not masked. */
const opcodes = { text: 1, close: 8, ping: 9 } as const;
const longLength = { short: 126, long: 127 } as const;

export interface FrameEvents {
  /** A text, at these bytes of the chunk. */
  readonly onText: (bytes: Buffer, start: number, end: number) => void;
  readonly onPing: () => void;
}

/** Cuts what a server sends into frames: far less work than a WebSocket library does, so that the servers are measured. */
export function createFrameReader({ onText, onPing }: FrameEvents): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  /** @returns where the next frame begins; undefined when this one is not all there. */
  const readOne = (bytes: Buffer, start: number): number | undefined => {
    if (bytes.length < start + 2) return undefined;
    const short = (bytes[start + 1] ?? 0) & 0x7f;
    let [length, payload] = [short, start + 2];
    if (short === longLength.short) {
      if (bytes.length < start + 4) return undefined;
      [length, payload] = [bytes.readUInt16BE(start + 2), start + 4];
    } else if (short === longLength.long) {
      if (bytes.length < start + 10) return undefined;
      [length, payload] = [Number(bytes.readBigUInt64BE(start + 2)), start + 10];
    }
    if (bytes.length < payload + length) return undefined;
    const opcode = (bytes[start] ?? 0) & 0x0f;
    if (opcode === opcodes.text) onText(bytes, payload, payload + length);
    else if (opcode === opcodes.ping) onPing();
    return payload + length;
  };
  return (chunk) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (let next = readOne(bytes, at); next !== undefined; next = readOne(bytes, at)) at = next;
    rest = at === bytes.length ? undefined : bytes.subarray(at);
  };
}
