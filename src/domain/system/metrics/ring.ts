import type { Ring } from "#domain/ports/host-samples.ts";

type Size = Pick<Ring, "stepMs" | "length"> & { readonly rows: number };

const isOfSize = (ring: Ring, { stepMs, length, rows }: Size): boolean =>
  ring.stepMs === stepMs && ring.length === length && ring.values.length === rows * length;

/** A bounded series of values by wall time. @param kept of an earlier run; one of another size is not taken. */
export function createRing({ stepMs, length, rows }: Size, kept?: Ring) {
  const taken = kept !== undefined && isOfSize(kept, { stepMs, length, rows }) ? kept : undefined;
  const values = taken?.values ?? new Float32Array(rows * length).fill(Number.NaN);
  let newest = taken?.newest ?? 0;

  const placeOf = (row: number, slot: number): number => row * length + (slot % length);
  const clear = (slot: number): void => {
    for (let row = 0; row < rows; row += 1) values[placeOf(row, slot)] = Number.NaN;
  };

  const ring = {
    stepMs,
    length,
    slotAt: (epochMs: number): number => Math.floor(epochMs / stepMs),
    newest: (): number => newest,
    /** Goes on to a slot, or back where the clock was set back: what lies between has no values. */
    moveTo(slot: number): void {
      const [from, to] = slot > newest ? [newest, slot] : [slot, newest];
      for (let each = Math.max(from + 1, to - length + 1); each <= to; each += 1) clear(each);
      newest = slot;
    },
    /** Of the newest slot. */
    set(row: number, value: number | undefined): void {
      values[placeOf(row, newest)] = value ?? Number.NaN;
    },
    /** @returns NaN for none. */
    get: (row: number, slot: number): number =>
      slot > newest || slot <= newest - length || slot < 0 ? Number.NaN : (values[placeOf(row, slot)] ?? Number.NaN),
    /** Mean and maximum over slots, both included. */
    over(row: number, first: number, last: number, maxRow = row): { readonly mean: number; readonly max: number } {
      let [count, sum, max] = [0, 0, Number.NaN];
      for (let slot = first; slot <= last; slot += 1) {
        const value = ring.get(row, slot);
        if (Number.isNaN(value)) continue;
        const high = ring.get(maxRow, slot);
        count += 1;
        sum += value;
        if (!(max >= high)) max = high;
      }
      return { mean: count === 0 ? Number.NaN : sum / count, max };
    },
    kept: (): Ring => ({ stepMs, length, newest, values }),
  };
  return ring;
}
