import { expect, it } from "vitest";
import { parseOutput } from "#domain/health/plugin/output.ts";
import { describeCases, uncovered } from "./cases.ts";

type Figure = readonly [
  label: string,
  value: number,
  unit: string,
  warn: string | null,
  crit: string | null,
  min: number | null,
  max: number | null,
];

const figure = (label: string, value: number, unit = ""): Figure => [label, value, unit, null, null, null, null];

/** The figures of each output, and how many words of its performance data are none. */
const outputs: Readonly<Record<string, readonly [figures: readonly Figure[], malformed: number, longText?: string]>> = {
  "disk-perfdata-first-line-only.txt": [
    [["/", 2643, "MB", "5948", "5958", 0, 5968]],
    0,
    "/ 15272 MB (77%);\n/boot 68 MB (69%);",
  ],
  "icinga-split-0.txt": [[figure("hello world", 123_456)], 0],
  "icinga-split-1.txt": [[figure("testA", 123_456), figure("testB", 123_456)], 0],
  "icinga-split-2.txt": [[figure("testA", 123_456), figure("testB", 123_456)], 0],
  // A second line is text until the next bar: Icinga splits there what stands behind a bar already.
  "icinga-split-3.txt": [[figure("testA", 123_456)], 0, "'testB'=123456"],
  "icinga-split-4.txt": [[["testA", 2, "m", "3", "4", 1, 5], figure("testB", 2, "foobar")], 0],
  "icinga-split-5.txt": [
    [
      ["testA", 5, "", null, "7", 1, 9],
      ["testB", 5, "", "7", null, 1, 9],
      ["testC", 5, "", null, null, 1, 9],
      ["testD", 2, "m", null, null, 1, null],
      ["testE", 5, "", null, "7", null, null],
    ],
    0,
  ],
  "ping-commas-between.txt": [[figure("percent_packet_loss", 0), figure("rta", 0.8)], 0],
  // Its third figure has a blank before "=", which makes two words of it.
  "ping-empty-perfdata.txt": [[], 4],
  "ping-long-output.txt": [
    [
      ["rta", 0.298, "ms", "4000.000000", "6000.000000", 0, null],
      ["pl", 0, "%", "80", "90", 0, 100],
    ],
    0,
    "This is a long output\nwith three lines",
  ],
  "ping-no-value.txt": [[], 1],
  "tcp-max-only.txt": [[["time", 0.008_457, "s", null, null, 0, 10]], 0],
};

/** What stands behind "OK - test | " in each line, and what it is. */
const singles: readonly (readonly [text: string, figure: Figure | null, malformed?: number])[] = [
  ["test=123456", figure("test", 123_456)],
  ["'hello world'=123456", figure("hello world", 123_456)],
  ["test=123456B", figure("test", 123_456, "B")],
  ["test=1000ms;200;500", ["test", 1000, "ms", "200", "500", null, null]],
  ["test=1000ms", figure("test", 1000, "ms")],
  ...["kAm", "MA", "gib", "dBm", "C", "F", "K", "t", "hl", "lm", "TO", "PV", "EWh"].map(
    (unit) => [`test=1${unit}`, figure("test", 1, unit)] as const,
  ),
  ["test=1000mW", figure("test", 1000, "mW")],
  ["test=42c", figure("test", 42, "c")],
  ["test=123456B;1000;2000;3000;4000", ["test", 123_456, "B", "1000", "2000", 3000, 4000]],
  ["test=123456;1000:2000;0:3000;3000;4000", ["test", 123_456, "", "1000:2000", "0:3000", 3000, 4000]],
  ["123456", null, 1],
  // Not by the guidelines, and refused by Icinga; but it can be nothing else than a decimal comma.
  ["test=1,23456", figure("test", 1.23456)],
  ["test=123_456", null, 1],
  ["test=", null, 1],
  ["test=123,456;1;1;1;1", null, 1],
  // The figure is kept, and the limit that cannot be read is left out.
  ["test=1;123,456;1;1;1", ["test", 1, "", null, "1", 1, 1], 1],
  ["test=1;1;123,456;1;1", ["test", 1, "", "1", null, 1, 1], 1],
];

const figuresOf = ({ perfdata }: ReturnType<typeof parseOutput>): readonly unknown[] =>
  perfdata.values.map(({ label, value, unit, warn, crit, min, max }) => [
    ...[label, value, unit],
    ...[warn?.text ?? null, crit?.text ?? null, min, max],
  ]);

describeCases("nagios", ({ text, files }) => {
  it("every file is read below", () => {
    const read = [...Object.keys(outputs), "icinga-single-figures.txt"];
    expect(uncovered(files(), { read, unread: {} })).toEqual([]);
  });

  it.each(Object.entries(outputs))(
    "%s: text, figures, and what is not a figure",
    (file, [figures, malformed, longText = ""]) => {
      const output = parseOutput(text(file));
      expect(figuresOf(output)).toEqual(figures);
      expect(output.perfdata.malformed).toBe(malformed);
      expect([output.text, output.longText]).toEqual([text(file).split("|")[0]?.trim(), longText]);
    },
  );

  it("icinga-single-figures: each line is what is below", () => {
    const lines = text("icinga-single-figures.txt").trimEnd().split("\n");
    expect(lines).toEqual(singles.map(([behind]) => `OK - test | ${behind}`));
  });

  const each = singles.map(([behind, expected, malformed = 0]) => ({ behind, expected, malformed }));
  it.each(each)("icinga-single-figures: $behind", ({ behind, expected, malformed }) => {
    const output = parseOutput(`OK - test | ${behind}`);
    expect(figuresOf(output)).toEqual(expected === null ? [] : [expected]);
    expect(output.perfdata.malformed).toBe(malformed);
  });
});
