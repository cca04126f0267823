import { expect, it } from "vitest";
import { clipText, counted, countedOf, flatKey, formatBytes, listNames, lowerFirst } from "./text.ts";

it.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [1_572_864, "1.5 MiB"],
  [150 * 1024 ** 3, "150 GiB"],
  [5000 * 1024 ** 4, "5000 TiB"],
])("%i bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

it("counts have plurals, and long lists are shortened", () => {
  expect([counted(1, "check"), counted(0, "check"), counted(2, "entry", "entries")]).toEqual([
    "1 check",
    "0 checks",
    "2 entries",
  ]);
  expect([listNames([]), listNames(["a", "b", "c"]), listNames(["a", "b", "c", "d", "e"])]).toEqual([
    "",
    "a, b, c",
    "a, b, c and 2 more",
  ]);
});

it("a sentence continues after a colon with a small letter, abbreviations as they are", () => {
  expect(["Must be true", "A part", "HTTP is off", "", "é"].map(lowerFirst)).toEqual([
    "must be true",
    "a part",
    "HTTP is off",
    "",
    "é",
  ]);
});

it("counts of what is shown name all only where there are more", () => {
  expect([countedOf(1, 1, "file"), countedOf(0, 0, "file"), countedOf(1, 3, "file")]).toEqual([
    "1 file",
    "0 files",
    "1 of 3 files",
  ]);
  expect(countedOf(2, 2, "entry", "entries")).toBe("2 entries");
});

it("a text is clipped between its characters", () => {
  expect([clipText("12345", 5), clipText("123456", 5), clipText("", 5)]).toEqual(["12345", "1234…", ""]);
  expect(clipText("123\u{1F600}6", 5)).toBe("123…");
});

it("flat keys are whole words at the start of a line", () => {
  expect(flatKey("anon 5\ninactive_file 77\n", "inactive_file")).toBe(77);
  expect(flatKey("total_inactive_file 5\n", "inactive_file")).toBeUndefined();
});
