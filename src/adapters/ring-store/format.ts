import { crc32 } from "node:zlib";
import type { Ring } from "#domain/ports/host-samples.ts";
import { isNumber, parseJsonObject, recordsIn } from "#kernel/values.ts";

const format = "steward-rings";
const version = 1;
const valueBytes = Float32Array.BYTES_PER_ELEMENT;

const isCount = (value: unknown): value is number => isNumber(value) && Number.isSafeInteger(value) && value >= 0;

const toLine = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

function takeLine(bytes: Buffer) {
  const end = bytes.indexOf("\n");
  return { line: parseJsonObject(bytes.toString("utf8", 0, Math.max(0, end))), rest: bytes.subarray(end + 1) };
}

/** Two lines of JSON, of which the second says what follows: values in 32 bits each, little-endian as on all that Node runs on. */
export function encodeRings(rings: readonly Ring[]): Uint8Array {
  const heads = rings.map(({ stepMs, length, newest, values }) => ({ stepMs, length, newest, count: values.length }));
  const content = Buffer.concat([
    toLine({ rings: heads }),
    ...rings.map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)),
  ]);
  return Buffer.concat([toLine({ format, version, crc32: crc32(content) }), content]);
}

/** @throws Error for anything but what {@link encodeRings} has made. */
export function decodeRings(bytes: Buffer): readonly Ring[] {
  const { line: head, rest: content } = takeLine(bytes);
  if (head?.["format"] !== format) throw new Error("it is not a file of metrics");
  if (head["version"] !== version) throw new Error("it is of another version of Steward");
  if (head["crc32"] !== crc32(content)) throw new Error("it is damaged");
  const { line, rest: values } = takeLine(content);
  let at = 0;
  return recordsIn(line?.["rings"]).map(({ stepMs, length, newest, count }) => {
    if (!isCount(stepMs) || !isCount(length) || !isCount(newest) || !isCount(count)) throw new Error("it is damaged");
    const part = values.subarray(at, at + count * valueBytes);
    at += count * valueBytes;
    if (part.length !== count * valueBytes) throw new Error("it is damaged");
    // A copy begins where 32 bits may.
    return { stepMs, length, newest, values: new Float32Array(Uint8Array.from(part).buffer) };
  });
}
