import { expect, it } from "vitest";
import { pageOf, wholeList } from "./page.ts";

const letters = "abcdefgh".split("");
const page = (query: { limit: number; cursor?: string | undefined }, all: readonly string[] = letters) =>
  pageOf(all, query, (letter) => letter);

it("leads through a list without a gap or a repetition", () => {
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

it("has no cursor where all is shown", () => {
  expect(page({ limit: 8 }).shape.next_cursor).toBeNull();
  expect(page({ limit: 8 }, []).shape).toEqual({ total: 0, limit: 8, next_cursor: null });
  expect(wholeList(5)).toEqual({ total: 5, limit: null, next_cursor: null });
});

it("goes on after the same member where the list has changed, and at its place where that is gone", () => {
  const { next_cursor: cursor } = page({ limit: 3 }).shape;
  const next = (all: string): string => page({ limit: 3, cursor: cursor ?? "" }, all.split("")).items.join("");
  expect(next("xyabcdefgh")).toBe("def");
  expect(next("cdefgh")).toBe("def");
  expect(next("abdefgh")).toBe("def");
  expect(next("ab")).toBe("");
});

it.each(["", "x", "1", "-1.a", "1e3.a", `${"9".repeat(20)}.a`])("refuses %j, which is no cursor", (cursor) => {
  expect(() => page({ limit: 3, cursor })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
});
