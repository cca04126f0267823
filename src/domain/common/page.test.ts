import { expect, it } from "vitest";
import { pageOf, wholeList } from "./page.ts";

const letters = "abcdefgh".split("");
const page = (query: { limit: number; cursor?: string | undefined }, all: readonly string[] = letters) =>
  pageOf(all, query, (letter) => letter);

it("the pages of a list have each member once", () => {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { items, shape } = page({ limit: 3, cursor });
    expect([shape.total, shape.limit]).toEqual([8, 3]);
    seen.push(...items);
    cursor = shape.next_cursor ?? undefined;
  } while (cursor !== undefined);
  expect(seen).toEqual(letters);
});

it("the last page of a list has no cursor", () => {
  expect(page({ limit: 8 }).shape.next_cursor).toBeNull();
  expect(page({ limit: 8 }, []).shape).toEqual({ total: 0, limit: 8, next_cursor: null });
  expect(wholeList(5)).toEqual({ total: 5, limit: null, next_cursor: null });
});

it("a page of a list that has changed continues after the last member shown, or at its place if it was removed", () => {
  const { next_cursor: cursor } = page({ limit: 3 }).shape;
  const next = (all: string): string => page({ limit: 3, cursor: cursor ?? "" }, all.split("")).items.join("");
  expect(next("xyabcdefgh")).toBe("def");
  expect(next("cdefgh")).toBe("def");
  expect(next("abdefgh")).toBe("def");
  expect(next("ab")).toBe("");
});

it.each(["", "x", "1", "-1.a", "1e3.a", `${"9".repeat(20)}.a`])(
  "the malformed cursor %j of a list is refused",
  (cursor) => {
    expect(() => page({ limit: 3, cursor })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
  },
);
