import { describe, expect, it } from "vitest";
import { type Change, spansOf, statusOf } from "./changes.ts";

const seen = (count: number, first: number, last: number) => ({ count, first, last });
const changes = ([before, after]: readonly [ReturnType<typeof seen>, ReturnType<typeof seen>]): readonly Change[] => [
  { before, after },
];

describe("the lengths of two windows that are compared", () => {
  it.each([
    ["meet at a time", { since: 500, until: 1000, before: { since: 0, until: 499 } }, [400, 300]],
    ["have bounds", { since: 550, until: 700, before: { since: 150, until: 449 } }, [300, 150]],
    ["are boots", { since: 0, until: 1000, before: { since: 0, until: Infinity } }, [200, 200]],
  ])("are those of the entries where there are no bounds: windows that %s", (_, windows, spans) => {
    expect(spansOf(windows, changes([seen(2, 100, 300), seen(3, 600, 800)]))).toEqual(spans);
  });

  it("say whether a template became more frequent", () => {
    const windows = { since: 2000, until: 3000, before: { since: 1000, until: 1999 } };
    const often = { before: seen(2, 1000, 1900), after: seen(9, 2000, 3000) };
    expect(statusOf(often, spansOf(windows, [often]))).toBe("shifted");
    const longer = { since: 2000, until: 6000, before: { since: 1000, until: 1999 } };
    const later = { ...often, after: seen(9, 2000, 6000) };
    expect(statusOf(later, spansOf(longer, [later]))).toBe("same");
  });
});
