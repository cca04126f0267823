import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { startProgress } from "./progress.ts";
import { plainScreen } from "./screen.ts";
import { textWidth } from "./text.ts";

it("a progress line fits the terminal of standard error", () => {
  let text = "";
  const err = (each: string): void => {
    text += each;
  };
  const screen = { ...plainScreen, showsProgress: true, errorColumns: () => 40 };
  startProgress(
    { out: () => undefined, err: () => undefined, redraw: (each) => err(`\r${each}`), screen },
    "x".repeat(100),
  ).end();
  const lines = stripVTControlCharacters(text).split("\r").filter(Boolean);
  expect(lines.map((line) => textWidth(line) <= 40)).toEqual([true]);
  expect(lines[0]).toContain("xxx");
});
