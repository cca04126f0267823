import { comparePlaces, type Place } from "./order.ts";
import type { Ordering } from "./ordering.ts";
import type { Source } from "./source.ts";

const prefix = "_BOOT_ID=";

const isBootId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

/** Ids of all boots, in the order of their first entries. */
export function bootsOf(sources: readonly Source[], { place }: Ordering): readonly string[] {
  const firsts = new Map<string, Place>();
  for (const source of sources) {
    for (const offset of source.valuesOf("_BOOT_ID")) {
      const payload = source.payloadOf(offset);
      if (payload === undefined) continue;
      const { bytes, start, end } = payload;
      const id = bytes.toString("latin1", start + prefix.length, end);
      const list = source.entriesOf(offset);
      if (!isBootId(id) || list.length === 0) continue;
      const first = place(source, list.at(0));
      if (first === undefined) continue;
      const known = firsts.get(id);
      if (known === undefined || comparePlaces(first, known) < 0) firsts.set(id, first);
    }
  }
  return [...firsts].sort(([, left], [, right]) => comparePlaces(left, right)).map(([id]) => id);
}

/** Whether a boot is told by its number, which counts the boots of all files. */
const isBootNumber = (text: string): boolean => /^[+-]?\d{1,9}$/.test(text);

/**
 * The boot of a number: 0 the last one, -1 the one before it, 1 the first of all, as `journalctl -b` counts.
 * @param boots ids in the order of their first entries.
 */
const bootNumbered = (boots: readonly string[], number: number): string | undefined =>
  boots[number > 0 ? number - 1 : boots.length - 1 + number];

/** Ids of the boots that are meant: an id means itself, a number what {@link bootNumbered} says. */
export function resolveBoot(sources: readonly Source[], text: string, ordering: Ordering): readonly string[] {
  if (!isBootNumber(text)) return [text.replaceAll("-", "").toLowerCase()];
  const boot = bootNumbered(bootsOf(sources, ordering), Number(text));
  return boot === undefined ? [] : [boot];
}
