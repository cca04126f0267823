import { expect, it } from "vitest";
import { parseMemory } from "./parse.ts";

/** As OpenZFS writes it, cut to what matters: a header of two lines, then name, type and data. */
const arcstats = (size: number, least: number): string =>
  `9 1 0x01 147 39984 5122961471 1830295271391\nname                            type data\nhits                            4    98231477\nc                               4    33285996544\nc_min                           4    ${least}\nc_max                           4    33285996544\nsize                            4    ${size}\ncompressed_size                 4    ${size}\n`;
const meminfo = "MemTotal:       65011712 kB\nMemFree:         4000000 kB\nMemAvailable:    5000000 kB\n";

it("the cache of ZFS counts as available, all but its minimum", () => {
  const gib = 1024 ** 3;
  expect(parseMemory(meminfo, arcstats(30 * gib, 2 * gib)).availableBytes).toBe(5_000_000 * 1024 + 28 * gib);
  expect(parseMemory(meminfo, arcstats(1 * gib, 2 * gib)).availableBytes).toBe(5_000_000 * 1024);
  expect(parseMemory(meminfo).availableBytes).toBe(5_000_000 * 1024);
  // Never more than there is.
  expect(parseMemory(meminfo, arcstats(90 * gib, 0)).availableBytes).toBe(65_011_712 * 1024);
});
