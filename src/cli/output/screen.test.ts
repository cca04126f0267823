import { expect, it } from "vitest";
import { paint, screenOfProcess } from "./screen.ts";

const terminal = { isTTY: true, columns: 90 };
const pipe = {};

it.each([
  ["a terminal", terminal, {}, true],
  ["a pipe", pipe, {}, false],
  ["a terminal with NO_COLOR", terminal, { NO_COLOR: "1" }, false],
  ["a terminal with an empty NO_COLOR", terminal, { NO_COLOR: "" }, true],
  ["a dumb terminal", terminal, { TERM: "dumb" }, false],
  ["a pipe with FORCE_COLOR", pipe, { FORCE_COLOR: "1" }, true],
  ["a terminal with FORCE_COLOR=0", terminal, { FORCE_COLOR: "0" }, false],
  ["a pipe with both", pipe, { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
])("%s has colours as its environment says", (_, stdout, environment, hasColours) => {
  const screen = screenOfProcess({ stdout, stderr: stdout, environment });
  expect(screen.hasColours).toBe(hasColours);
  expect(paint(screen, "red", "x")).toBe(hasColours ? "\u001b[31mx\u001b[39m" : "x");
});

it("output is cut at the width of its own terminal, and not in a pipe", () => {
  const on = (stdout: object) => screenOfProcess({ stdout, stderr: pipe, environment: {} }).columns();
  expect([on(terminal), on({ isTTY: true, columns: 0 }), on({ isTTY: true, columns: 3 }), on(pipe)]).toEqual([
    90,
    80,
    20,
    undefined,
  ]);
  const screen = (stdout: object, stderr: object) => screenOfProcess({ stdout, stderr, environment: {} });
  const file = screen(terminal, pipe);
  expect([file.hasColours, file.hasErrorColours, file.errorColumns()]).toEqual([true, false, undefined]);
  const narrow = screen(pipe, { isTTY: true, columns: 40 });
  expect([narrow.hasColours, narrow.hasErrorColours, narrow.errorColumns()]).toEqual([false, true, 40]);
});

it("progress is shown where standard error is a terminal that can move the cursor", () => {
  const shows = (stderr: object, environment = {}) =>
    screenOfProcess({ stdout: pipe, stderr, environment }).showsProgress;
  expect([shows(terminal), shows(pipe), shows(terminal, { TERM: "dumb" })]).toEqual([true, false, false]);
});
