import { join } from "node:path";
import { crc32 } from "node:zlib";
import { readRegularFile, writeFileAtomic } from "#adapters/files/index.ts";
import type { Ring, RingStore } from "#domain/ports/host-samples.ts";
import { orReport, orUndefinedSync } from "#kernel/errors.ts";
import { isCount, parseJsonObject, recordsIn } from "#kernel/values.ts";

const format = "steward-rings";
const version = 1;
const valueBytes = Float32Array.BYTES_PER_ELEMENT;

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

export const ringFile = "system-metrics.bin";
const maxBytes = 1024 * 1024;

/**
 * One file in the state directory, written as a whole.
 * @param ports.onUnreadable hears of a file that is not taken; the next save replaces it.
 * @param ports.onUnsaved hears of the first of several saves in a row that fail.
 */
export function openRingStore(ports: {
  readonly stateDir: string;
  readonly onUnreadable: (error: unknown) => void;
  readonly onUnsaved: (error: unknown) => void;
}): RingStore {
  const path = join(ports.stateDir, ringFile);
  let isFailing = false;
  return {
    load: () =>
      orReport(() => {
        const file = orUndefinedSync(() => readRegularFile(path, { maxBytes, followsLinks: false }));
        return file && decodeRings(file.content);
      }, ports.onUnreadable),
    save(rings) {
      try {
        writeFileAtomic(path, encodeRings(rings));
        isFailing = false;
      } catch (error) {
        if (!isFailing) ports.onUnsaved(error);
        isFailing = true;
      }
    },
  };
}
