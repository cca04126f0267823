import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type PerfValue, parseOutput, parsePerfdata, parseRange } from "./output.ts";

/** The parts with labels alone. */
const parts = (stdout: string, isCut?: boolean) => {
  const { text, longText, perfdata } = parseOutput(stdout, isCut);
  return [text, longText, perfdata.values.map(({ label, value }) => `${label}=${value}`).join(" ")];
};

describe("the output of a monitoring plugin", () => {
  it.each([
    ["", "", "", ""],
    ["DISK OK\n", "DISK OK", "", ""],
    ["DISK OK - free: 3 MB|/=5B;1;2\n", "DISK OK - free: 3 MB", "", "/=5"],
    ["DISK OK | a=1 b=2", "DISK OK", "", "a=1 b=2"],
    ["DISK OK | a=1\nmore\n\n  and more\n", "DISK OK", "more\n\n  and more", "a=1"],
    ["DISK OK | a=1\nlong\ntext | b=2\nc=3 d=4\ne=5\n", "DISK OK", "long\ntext", "a=1 b=2 c=3 d=4 e=5"],
    ["DISK OK\nlong|b=2", "DISK OK", "long", "b=2"],
    ["OK | 'a|b'=1", "OK", "", "a|b=1"],
    ["| a=1", "", "", "a=1"],
    ["\nlong", "", "long", ""],
    ["OK\r\nlong\r\n", "OK", "long", ""],
    ["O\u0000K \u001b[31mred\u009b\u007f\tx\n", "OK [31mred\tx", "", ""],
    ["gr\ufffdn \u{1f600} ü", "gr\ufffdn \u{1f600} ü", "", ""],
  ])("is parsed: %j", (stdout, ...expected) => {
    expect(parts(stdout)).toEqual(expected);
  });

  it("drops a figure that was cut off", () => {
    expect(parts("OK | a=1 b=23", true)).toEqual(["OK", "", "a=1"]);
    expect(parts("OK | a=1\nlong | b=2\nc=3", true)).toEqual(["OK", "long", "a=1 b=2"]);
    expect(parts("OK | a=1\nlong te", true)).toEqual(["OK", "long te", "a=1"]);
    expect(parts("OK | a=1 ", true)).toEqual(["OK", "", "a=1"]);
  });

  it("is parsed whatever it holds, without losing text", () => {
    const near = fc.string({ unit: fc.constantFrom("a", "|", "\n", " ", "=", "1", "'", "\u0000") });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), near), fc.boolean(), (stdout, isCut) => {
        const { text, longText } = parseOutput(stdout, isCut);
        expect(text).not.toMatch(/[|\n]/);
        expect(longText).not.toMatch(/\|/);
        expect(`${text}${longText}`).not.toMatch(/[^\P{Cc}\n\t]/u);
      }),
      { numRuns: 1000 },
    );
    const plain = fc.string({ unit: fc.constantFrom("a", "ü", ".", "é", "1") });
    fc.assert(
      fc.property(plain, fc.array(plain), (text, lines) => {
        const output = parseOutput([text, ...lines].join("\n"));
        expect(output).toMatchObject({ text, longText: lines.join("\n").trimEnd() });
      }),
    );
  });
});

const bare = { unit: "", warn: null, crit: null, min: null, max: null };
const upTo = (end: number, text = String(end)) => ({ text, start: 0, end, inside: false });
const one = (text: string): PerfValue | undefined => parsePerfdata(text).values[0];

describe("performance data", () => {
  it("has values with units, thresholds and bounds", () => {
    expect(parsePerfdata("/=149946368B;5798205849;~:6120328396;0;6442450944 load1=0.300;@1:2;;0;")).toEqual({
      malformed: 0,
      values: [
        {
          label: "/",
          value: 149946368,
          unit: "B",
          warn: upTo(5798205849),
          crit: { text: "~:6120328396", start: null, end: 6120328396, inside: false },
          min: 0,
          max: 6442450944,
        },
        { ...bare, label: "load1", value: 0.3, warn: { text: "@1:2", start: 1, end: 2, inside: true }, min: 0 },
      ],
    });
  });

  it.each(["s", "us", "ms", "ns", "%", "B", "KB", "MB", "GB", "TB", "c", "EB", "m3", "°C", "MiB/s"])(
    "keeps the unit %s",
    (unit) => {
      expect(one(`a=-1.5${unit};1`)).toEqual({ ...bare, label: "a", value: -1.5, unit, warn: upTo(1) });
    },
  );

  it.each([
    ["a=U", null],
    ["a=U;1;2", null],
    ["a=1.", 1],
    ["a=.5", 0.5],
    ["a=+7", 7],
    ["a=1e+06", 1e6],
    ["a=2E-3s", 0.002],
    ["a=0,125", 0.125],
    ["a=12,5%", 12.5],
    ["a=-1,2345", -1.2345],
  ])("reads %s", (text, value) => {
    expect(parsePerfdata(text)).toMatchObject({ malformed: 0, values: [{ label: "a", value }] });
  });

  it("may have commas between its figures", () => {
    expect(parsePerfdata("a=0, 'b c'=2ms;3, d=4,")).toMatchObject({
      malformed: 0,
      values: [
        { label: "a", value: 0 },
        { label: "b c", value: 2, unit: "ms", warn: upTo(3) },
        { label: "d", value: 4 },
      ],
    });
  });

  it("has quoted labels", () => {
    expect(parsePerfdata("'it''s a = b|c'=1 'C:\\ used'=2\t'::x'=3\n''''=4").values.map(({ label }) => label)).toEqual([
      "it's a = b|c",
      "C:\\ used",
      "::x",
      "'",
    ]);
  });

  it("accepts units on thresholds", () => {
    expect(parsePerfdata("used=10%;80%;90%;0%;100%")).toEqual({
      malformed: 0,
      values: [{ label: "used", value: 10, unit: "%", warn: upTo(80, "80%"), crit: upTo(90, "90%"), min: 0, max: 100 }],
    });
  });

  it.each([
    ["a", 1],
    ["a=", 1],
    ["=5", 1],
    ["''=5", 1],
    ["a=five", 1],
    ["a=1,234", 1],
    ["a=1_234", 1],
    ["a=1.2.3", 1],
    ["a=1-2", 1],
    ["a=NaN", 1],
    ["a=1e999", 1],
    ["a=1=2", 1],
    ["'a'b=1", 1],
    ["'a=1", 1],
    ["a b c", 3],
  ])("counts the malformed %j and reads its neighbours", (text, malformed) => {
    const around = parsePerfdata(`before=1 ${text} after=2`);
    expect(around.values.map(({ label }) => label)).toEqual(["before", "after"]);
    expect(around.malformed).toBe(malformed);
  });

  it("drops and counts malformed thresholds", () => {
    expect(parsePerfdata("a=5;x;1,000;?;10;;more")).toEqual({
      malformed: 4,
      values: [{ ...bare, label: "a", value: 5, max: 10 }],
    });
  });

  it("is read as it was written", () => {
    const label = fc.string({ unit: "grapheme", minLength: 1 });
    const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
    const unit = fc.constantFrom("", "s", "us", "ms", "ns", "%", "B", "KB", "MB", "GB", "TB", "c", "m3");
    const item = fc.record({ label, value: fc.option(number), unit, min: fc.option(number), max: fc.option(number) });
    fc.assert(
      fc.property(fc.array(item), fc.constantFrom(" ", "  ", "\t"), (items, gap) => {
        const text = items.map(({ label: name, value, unit: of, min, max }) => {
          const figure = value === null ? "U" : `${value}${of}`;
          return `'${name.replaceAll("'", "''")}'=${figure};;;${min ?? ""};${max ?? ""}`;
        });
        expect(parsePerfdata(text.join(gap))).toEqual({
          malformed: 0,
          values: items.map((each) => ({ ...bare, ...each, unit: each.value === null ? "" : each.unit })),
        });
      }),
    );
  });

  it("is JSON, whatever the input", () => {
    const near = fc.string({
      unit: fc.constantFrom("'", "=", ";", " ", "1", ",", ".", "-", "e", "U", "a", "%", "@", ":"),
    });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), near), (text) => {
        const { values, malformed } = parsePerfdata(text);
        expect(JSON.parse(JSON.stringify(values))).toEqual(values.map((each) => ({ ...each, value: each.value })));
        expect(values.length + malformed).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: 2000 },
    );
  });

  it("is read in time linear in its length", () => {
    for (const text of ["'", "' ", "''' ", "'a ", "a=", "a=1;", "=", "1".repeat(50)]) {
      const flood = text.repeat(65536 / text.length);
      const { values, malformed } = parsePerfdata(flood);
      expect(values.length + malformed).toBeLessThanOrEqual(flood.length);
    }
  });
});

describe("ranges of performance data", () => {
  it.each([
    ["10", 0, 10, false],
    ["10:", 10, null, false],
    ["~:10", null, 10, false],
    ["10:20", 10, 20, false],
    ["@10:20", 10, 20, true],
    ["@10", 0, 10, true],
    [":10", 0, 10, false],
    ["~:", null, null, false],
    ["-20:-10.5", -20, -10.5, false],
    ["5:5", 5, 5, false],
    ["1e3:2e3", 1000, 2000, false],
    ["0,5:1,5", 0.5, 1.5, false],
  ])("are parsed: %s", (text, start, end, inside) => {
    expect(parseRange(text)).toEqual({ text, start, end, inside });
  });

  it.each(["", "@", "~", "ten", "10:~", "20:10", "1:2:3", "10%", "10 ", "1,234", "-", "@@1"])(
    "are refused: %j",
    (text) => {
      expect(parseRange(text)).toBeUndefined();
    },
  );

  it("are written as they were read, and never throw", () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(number, number, fc.boolean(), (a, b, inside) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b)];
        const text = `${inside ? "@" : ""}${start}:${end}`;
        expect(parseRange(text)).toEqual({ text, start: start + 0, end: end + 0, inside });
      }),
    );
    const near = fc.string({ unit: fc.constantFrom("@", "~", ":", "1", "0", ",", ".", "-", "e") });
    fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), near), (text) => void parseRange(text)));
  });
});
