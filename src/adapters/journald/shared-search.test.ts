import { expect, it } from "vitest";
import { type Help, helpSearch, type SharedSearch, searchTogether } from "./shared-search.ts";

type SearchedFile = Parameters<typeof searchTogether>[0][number] & { readonly path: string };

const sources = Array.from(
  { length: 6 },
  (_, index): SearchedFile => ({
    path: String(index),
    file: { inode: `1:${index}`, size: 1e9, header: { entries: 10 } },
    damage: () => undefined,
    noteDamage: (what) => expect.fail(what),
  }),
);
const all = sources.map(({ path }) => [Number(path)]);

/** What every file gives, and who searched it. */
function together(help: (Omit<Help, "whileWaiting"> & Partial<Help>) | undefined, own = sources) {
  const searched: string[] = [];
  const searchFile = ({ path }: SearchedFile): Float64Array => {
    searched.push(path);
    return Float64Array.of(Number(path));
  };
  const helped = help && { whileWaiting: () => expect.fail("nothing is waited for"), ...help };
  const use = (_: SearchedFile, offsets: Float64Array | undefined): readonly number[] => [...(offsets ?? [])];
  const results = searchTogether(own, { pattern: "a", searchFile, use }, helped);
  return { results, searched: searched.join("") };
}

const searchFile = ({ path }: SearchedFile): Float64Array => Float64Array.of(Number(path));

it("a shared search uses the results of its helper, and searches the remaining files", () => {
  expect(together({ ask: (search, port) => helpSearch(search, sources, { searchFile, port }) })).toEqual({
    results: all,
    searched: "",
  });
  expect(together({ ask: ({ taken }) => void taken.fill(0) })).toEqual({ results: all, searched: "012345" });
  expect(together(undefined)).toEqual({ results: all, searched: "012345" });
});

it("a shared search learns what its helper finds wrong with a file", () => {
  const noted: string[] = [];
  const own = sources.map((source) => ({
    ...source,
    noteDamage: (what: string) => void noted.push(`${source.path}: ${what}`),
  }));
  const damaged = sources.map((source) => ({
    ...source,
    damage: () => (source.path === "2" ? "object of a wrong size" : undefined),
  }));
  const { results } = together({ ask: (search, port) => helpSearch(search, damaged, { searchFile, port }) }, own);
  expect([results, noted]).toEqual([all, ["2: object of a wrong size"]]);
});

it("a shared search searches files that its helper lacks, has in an older state, or fails at", () => {
  const older = sources
    .slice(2)
    .map((source) => ({ ...source, file: { ...source.file, header: { entries: source.path === "2" ? 9 : 10 } } }));
  const failing = (source: SearchedFile): Float64Array | undefined => {
    if (source.path === "4") throw new Error("gone");
    return source.path === "5" ? undefined : searchFile(source);
  };
  const ask: Help["ask"] = (search, port) => {
    expect(() => helpSearch(search, older, { searchFile: failing, port })).toThrow("gone");
    helpSearch(search, older, { searchFile: failing, port });
  };
  expect(together({ ask })).toEqual({ results: all, searched: "01245" });
});

it("a shared search whose caller has gone ends, and leaves its helper nothing to do", () => {
  let asked: SharedSearch | undefined;
  const ask: Help["ask"] = (search) => {
    asked = search;
    Atomics.store(search.taken, 3, 2);
  };
  const whileWaiting = (): never => {
    throw new Error("nobody waits");
  };
  expect(() => together({ ask, whileWaiting })).toThrow("nobody waits");
  expect(asked?.taken.includes(0)).toBe(false);
});

it("a small search asks no helper", () => {
  const small = sources.map((source) => ({ ...source, file: { ...source.file, size: 1000 } }));
  expect(together({ ask: () => expect.fail("asked") }, small).results).toEqual(all);
});
