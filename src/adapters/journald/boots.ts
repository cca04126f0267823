import type { JournalBoot, LogQuery } from "#domain/ports/journal.ts";
import { matchingUnits } from "./match.ts";
import { comparePlaces, type Place } from "./order.ts";
import type { Ordering } from "./ordering.ts";
import { countOf, intersection, offsetAt, type Postings, toOffsets, union } from "./postings.ts";
import type { Source } from "./source.ts";

const prefix = "_BOOT_ID=";

const idForm = /^[0-9a-f]{32}$/;

/** Ids of all boots, in the order of their first entries. */
function bootsOf(sources: readonly Source[], { place }: Ordering): readonly string[] {
  const firsts = new Map<string, Place>();
  for (const source of sources) {
    for (const offset of source.valuesOf("_BOOT_ID")) {
      const payload = source.payloadOf(offset);
      if (payload === undefined) continue;
      const { bytes, start, end } = payload;
      const id = bytes.toString("latin1", start + prefix.length, end);
      const list = source.entriesOf(offset);
      if (!idForm.test(id) || list.length === 0) continue;
      const first = place(source, list.at(0));
      if (first === undefined) continue;
      const known = firsts.get(id);
      if (known === undefined || comparePlaces(first, known) < 0) firsts.set(id, first);
    }
  }
  return [...firsts].sort(([, left], [, right]) => comparePlaces(left, right)).map(([id]) => id);
}

/**
 * Ids of the boots that are meant: an id means itself; a number counts the boots of all files as `journalctl -b` does: 0 is the last
 * one, -1 the one before it, 1 the first of all.
 */
export function resolveBoot(sources: readonly Source[], text: string, ordering: Ordering): readonly string[] {
  if (!/^[+-]?\d{1,9}$/.test(text)) return [text.replaceAll("-", "").toLowerCase()];
  const boots = bootsOf(sources, ordering);
  const number = Number(text);
  const boot = boots[number > 0 ? number - 1 : boots.length - 1 + number];
  return boot === undefined ? [] : [boot];
}

/** In a file whose entries are in no order of time. */
function extremesOf(source: Source, postings: Postings): readonly [first: number, last: number] | undefined {
  let times: [number, number] | undefined;
  for (const offset of toOffsets(postings)) {
    const time = source.head(offset)?.realtime;
    if (time === undefined) continue;
    times ??= [time, time];
    times = [Math.min(times[0], time), Math.max(times[1], time)];
  }
  return times;
}

/** Times of the first and the last of entries, in microseconds since the epoch. */
function timesOf(source: Source, postings: Postings): readonly [first: number, last: number] | undefined {
  const count = countOf(postings);
  if (source.spans() === undefined) return extremesOf(source, postings);
  for (let from = 0, to = count - 1; from <= to; ) {
    const [first, last] = [source.head(offsetAt(postings, from)), source.head(offsetAt(postings, to))];
    if (first !== undefined && last !== undefined) return [first.realtime, last.realtime];
    if (first === undefined) from += 1;
    if (last === undefined) to -= 1;
  }
  return undefined;
}

/** Times of entries of these boots in a file, the first and the last among them; with units, of the entries of those. */
export function timesOfBoots(source: Source, boots: readonly string[], units: LogQuery["units"]): readonly number[] {
  const written = union(boots.map((boot) => source.entriesWith(`_BOOT_ID=${boot}`)));
  const wanted = matchingUnits(source, units);
  return timesOf(source, wanted === undefined ? written : intersection([wanted, written])) ?? [];
}

/** The boots that have entries, with units entries of those, in the order of their first entries. */
export function listBoots(
  sources: readonly Source[],
  ordering: Ordering,
  units: LogQuery["units"],
): readonly JournalBoot[] {
  const ids = bootsOf(sources, ordering);
  return ids.flatMap((id, position): readonly JournalBoot[] => {
    const times = sources.flatMap((source) => timesOfBoots(source, [id], units));
    if (times.length === 0) return [];
    return [{ index: position - ids.length + 1, id, first: Math.min(...times), last: Math.max(...times) }];
  });
}
