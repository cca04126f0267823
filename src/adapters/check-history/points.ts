import type { HourPoint, PointsById } from "#domain/ports/check-history.ts";

/** Set beside the id of a series: the value takes 64 bits. */
const isWide = 0x8000;
const digits = 7;

const hourBytes = 16;

/** A value of 32 bits in the digits that it has. */
const shortened = (value: number): number => Number(value.toPrecision(digits)) + 0;

const isNarrow = (value: number): boolean => shortened(Math.fround(value)) === value;

/** Ids with values of 32 bits where these keep it as it is, else of 64, little-endian. */
export function encodeMinute(points: PointsById<number>): Uint8Array {
  const sizes = [...points.values()].map((value) => (isNarrow(value) ? 6 : 10));
  const view = new DataView(new ArrayBuffer(sizes.reduce((sum, size) => sum + size, 0)));
  let at = 0;
  for (const [id, value] of points) {
    if (isNarrow(value)) {
      view.setUint16(at, id, true);
      view.setFloat32(at + 2, value, true);
      at += 6;
    } else {
      view.setUint16(at, id | isWide, true);
      view.setFloat64(at + 2, value, true);
      at += 10;
    }
  }
  return new Uint8Array(view.buffer);
}

/** @param wanted ids of series; all when left out. */
export function decodeMinute(bytes: Uint8Array, wanted?: ReadonlySet<number>): Map<number, number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const points = new Map<number, number>();
  let at = 0;
  while (at + 6 <= bytes.byteLength) {
    const head = view.getUint16(at, true);
    const id = head & ~isWide;
    const size = id === head ? 6 : 10;
    if (at + size <= bytes.byteLength && (wanted?.has(id) ?? true))
      points.set(id, size === 6 ? shortened(view.getFloat32(at + 2, true)) : view.getFloat64(at + 2, true));
    at += size;
  }
  return points;
}

/** Ids, counts, and mean, minimum and maximum in 32 bits each, little-endian. */
export function encodeHour(points: PointsById<HourPoint>): Uint8Array {
  const view = new DataView(new ArrayBuffer(points.size * hourBytes));
  let at = 0;
  for (const [id, { count, mean, min, max }] of points) {
    view.setUint16(at, id, true);
    view.setUint16(at + 2, count, true);
    for (const [place, value] of [mean, min, max].entries()) view.setFloat32(at + 4 + 4 * place, value, true);
    at += hourBytes;
  }
  return new Uint8Array(view.buffer);
}

/** @param wanted ids of series; all when left out. */
export function decodeHour(bytes: Uint8Array, wanted?: ReadonlySet<number>): Map<number, HourPoint> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const points = new Map<number, HourPoint>();
  for (let at = 0; at + hourBytes <= bytes.byteLength; at += hourBytes) {
    const id = view.getUint16(at, true);
    if (wanted !== undefined && !wanted.has(id)) continue;
    const read = (place: number): number => shortened(view.getFloat32(at + 4 + 4 * place, true));
    points.set(id, { count: view.getUint16(at + 2, true), mean: read(0), min: read(1), max: read(2) });
  }
  return points;
}
