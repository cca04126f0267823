import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseOutput, parsePerfdata } from "#domain/health/plugin/output.ts";
import { nagiosReport, nagiosUnknown, perfdataOf, speaksNagios } from "./check.ts";

const result = { check_id: "disk_space", status: "pass", message: "/ is 17 % full", details: {} } as const;

describe("steward check --nagios: a result", () => {
  it.each([
    ["pass", 0, "OK"],
    ["warn", 1, "WARNING"],
    ["fail", 2, "CRITICAL"],
    ["skip", 3, "UNKNOWN"],
  ] as const)("that is %s has exit code %i and the word %s", (status, code, word) => {
    expect(nagiosReport({ ...result, status })).toEqual({ code, line: `DISK_SPACE ${word} - / is 17 % full` });
    expect(nagiosReport({ ...result, status, details: { free_gb: 5.5 } })).toEqual({
      code,
      line: `DISK_SPACE ${word} - / is 17 % full | free_gb=5.5GB`,
    });
  });

  it("has plain text on one line as its message", () => {
    expect(nagiosReport({ ...result, message: " a|b=1\r\nc\u2028d\u001b[31m\te " }).line).toBe(
      "DISK_SPACE OK - a/b=1 c d [31m e",
    );
    expect(nagiosUnknown("one | two\nthree\n")).toBe("STEWARD UNKNOWN - one / two three");
  });

  it("is one line that a parser of plugins reads, whatever it holds", () => {
    const text = fc.string({ unit: "binary" });
    const name = text.filter((each) => each !== "");
    const details = fc.dictionary(name, fc.oneof(fc.double(), text, fc.constant(null), fc.array(fc.nat())));
    // What is smaller is nothing to a monitoring system; and there is no minus zero.
    const rounded = (value: unknown): number =>
      (Math.abs(Number(value)) < 1e-6 ? Number(Number(value).toFixed(20)) : Number(value)) + 0;
    fc.assert(
      fc.property(text, details, (message, figures) => {
        const { line } = nagiosReport({ ...result, message, details: figures });
        expect(line).not.toMatch(/\p{Cc}/u);
        const { perfdata } = parseOutput(line);
        expect(perfdata).toMatchObject({ malformed: 0 });
        const finite = Object.values(figures).filter((value) => Number.isFinite(value));
        expect(perfdata.values.map(({ value }) => rounded(value))).toEqual(finite.map(rounded));
      }),
    );
  });
});

describe("steward check --nagios: performance data", () => {
  it("has the numbers of the details, with units by their names", () => {
    const details = {
      path: "/",
      percent_used: 17.2,
      used_percent: 3,
      total_gb: 105.1,
      disk_bytes: 5e21,
      bytes: 7,
      age_seconds: 90,
      lag_ms: 0.0000001,
      count: -3,
      enabled: true,
      mounts: [{ free_gb: 5 }],
      nothing: null,
      "it's a = b": 1,
    };
    expect(perfdataOf({ details })).toBe(
      "percent_used=17.2% used_percent=3% total_gb=105.1GB disk_bytes=5000000000000000000000B bytes=7B age_seconds=90s lag_ms=0.0000001ms count=-3 'it''s a = b'=1",
    );
    expect(perfdataOf({ details: {} })).toBe("");
  });

  it("of a plugin is passed on", () => {
    const text = "/=5B;~:10;@1:2;0;20 'a b'=U 'it''s'=0.5%;;;;100 c=7c;5";
    const { values: perfdata } = parsePerfdata(text);
    expect(perfdataOf({ details: { exit_code: 0, perfdata_malformed: 0, perfdata } })).toBe(text);
    expect(perfdataOf({ details: { exit_code: 2, perfdata: [] } })).toBe("");
  });

  it("is cut between values of a long line", () => {
    const details = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`figure_${index}`, index]));
    const perfdata = perfdataOf({ details });
    expect(perfdata.length).toBeLessThanOrEqual(6000);
    const { values, malformed } = parsePerfdata(perfdata);
    expect(malformed).toBe(0);
    expect(values.length).toBeGreaterThan(300);
    expect(values.every(({ label, value }) => label === `figure_${value}`)).toBe(true);
  });
});

it.each([
  [["check", "x", "--nagios"], true],
  [["--url", "http://a", "check", "--nagios", "x"], true],
  [["check", "--colour", "--nagios"], true],
  [["check", "x"], false],
  [["check", "--", "--nagios"], false],
  [["keys", "list", "--nagios"], false],
])("the arguments %j ask for the output of a plugin: %s", (argv, expected) => {
  expect(speaksNagios(argv)).toBe(expected);
});
