import { describe, expect, it } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import { parseBusString, parseChrony, parseNtpq, parseTimesync } from "./parse.ts";

const at = Date.parse("2026-01-01T09:00:00Z");

describe("the output of chronyc", () => {
  const tracking = ({ stratum = "3", answered = "1767258000.123456789", slow = "0.012345678", leap = "Normal" } = {}) =>
    `C0000201,192.0.2.1,${stratum},${answered},${slow},0.000001,0.000023,-12.345,0.001,0.02,0.0123,0.0004,64.2,${leap}\n`;

  it("has offset, server and stratum, or none while unsynchronized", () => {
    expect(parseChrony(tracking())).toEqual({
      program: "chrony",
      server: "192.0.2.1",
      offsetMs: expect.closeTo(12.345678, 6),
      stratum: 3,
      answeredAt: expect.closeTo(at + 123.456789, 3),
    });
    const none = "00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n";
    expect(parseChrony(none)).toBeUndefined();
    expect(parseChrony(tracking({ leap: "Not synchronised" }))).toBeUndefined();
  });

  it.each([
    ["-0.000000001", -0.000001],
    ["-10800.000000000", -10_800_000],
    ["+86400.5", 86_400_500],
    // A host without a battery, at its first question.
    ["1767258000.000000000", 1_767_258_000_000],
  ])("may have any offset: %s", (slow, offsetMs) => {
    expect(parseChrony(tracking({ slow }))?.offsetMs).toBeCloseTo(offsetMs, 6);
  });

  it.each([
    ["no line of it", "506 Cannot talk to daemon"],
    ["nothing", ""],
    ["half a line", "C0000201,192.0.2.1,3"],
    ["an offset that is not a number", tracking({ slow: "nan" })],
    ["an endless offset", tracking({ slow: "-inf" })],
    ["an offset of zero that nobody wrote", tracking({ slow: "" })],
    ["an offset in other digits", tracking({ slow: "0x10" })],
    ["an offset of more than an era", tracking({ slow: "1e12" })],
    ["a stratum below none", tracking({ stratum: "-3" })],
    ["half a stratum", tracking({ stratum: "2.5" })],
    ["an answer at no time", tracking({ answered: "yesterday" })],
    ["an answer before there was time", tracking({ answered: "-1" })],
    ["an answer after the years end", tracking({ answered: "1e15" })],
  ])("is an error when it is %s", (_, text) => {
    expect(() => parseChrony(text)).toThrow(CommandFailed);
    expect(() => parseChrony(text)).toThrow("cannot read what chrony says");
  });
});

describe("the last answer that timesyncd had", () => {
  const micros = at * 1000;
  // The clock is 250 ms behind, the way takes 20 ms in each direction.
  const moments: readonly [number, number, number, number] = [
    micros,
    micros + 270_000,
    micros + 270_100,
    micros + 40_100,
  ];
  const message = (changes: { leap?: number; stratum?: number; times?: readonly unknown[] } = {}) => {
    const { leap = 0, stratum = 2, times = moments } = changes;
    return [leap, 4, 4, stratum, -24, 1000, 2000, [192, 0, 2, 1], ...times, false, 7, 900];
  };
  const text = (data: unknown) => JSON.stringify({ type: "(uuuuittayttttbtt)", data });

  it("has the offset in its timestamps, of hours in either direction", () => {
    expect(parseTimesync(text(message()))).toEqual({
      program: "systemd-timesyncd",
      server: "",
      offsetMs: 250,
      stratum: 2,
      answeredAt: at + 40.1,
    });
    const hours = 3 * 3_600_000_000;
    const [origin, received, sent, arrived] = moments;
    const behind = [origin, received + hours, sent + hours, arrived];
    expect(parseTimesync(text(message({ times: behind })))?.offsetMs).toBe(3 * 3_600_000 + 250);
    const ahead = [origin + hours, received, sent, arrived + hours];
    expect(parseTimesync(text(message({ times: ahead })))?.offsetMs).toBe(-3 * 3_600_000 + 250);
  });

  it("is none before the first one, and of an unsynchronized server", () => {
    expect(parseTimesync(text(message({ stratum: 0, times: [0, 0, 0, 0] })))).toBeUndefined();
    expect(parseTimesync(text(message({ leap: 3 })))).toBeUndefined();
    expect(parseTimesync(text(message({ stratum: 16 })))).toBeUndefined();
  });

  it.each([
    ["no JSON", "no JSON"],
    ["nothing", ""],
    ["no message", text("x")],
    ["an empty message", text([])],
    ["words for times", text(message({ times: ["a", "b", "c", "d"] }))],
    ["times of which one is missing", text(message({ times: moments.slice(0, 2) }))],
    ["times beyond all clocks", text(message({ times: [1, 2 ** 64, 2 ** 64, 1] }))],
    ["a stratum below none", text(message({ stratum: -1 }))],
  ])("is an error when it is %s", (_, said) => {
    expect(() => parseTimesync(said)).toThrow("cannot read what systemd-timesyncd says");
  });

  it("has the name of its server, or none", () => {
    expect(parseBusString('{"type":"s","data":"ntp.example.org"}')).toBe("ntp.example.org");
    for (const said of ["", "no JSON", '{"type":"s","data":7}']) expect(parseBusString(said)).toBe("");
  });
});

describe("the output of ntpq", () => {
  const variables = (changes: Readonly<Record<string, string>> = {}) => {
    const all = { leap: "00", stratum: "2", refid: "192.0.2.1", offset: "-1.234567", reftime: "ed00b610.00000000" };
    const { leap, stratum, refid, offset, reftime } = { ...all, ...changes };
    return [
      "associd=0 status=0615 leap_none, sync_ntp, 1 event, clock_sync,",
      `version="ntpd ntpsec-1.2.2", processor="x86_64", leap=${leap}, stratum=${stratum}, precision=-23,`,
      `rootdelay=12.3, rootdisp=15.6, refid=${refid}, reftime=${reftime} 2026-01-01T09:00:00.000Z,`,
      `clock=ed00b611.00000000 2026-01-01T09:00:01.000Z, offset=${offset}, sys_jitter=0.5`,
    ].join("\n");
  };

  it("has offset, server and stratum, or none while unsynchronized", () => {
    expect(parseNtpq(variables())).toEqual({
      program: "ntpd",
      server: "192.0.2.1",
      offsetMs: -1.234567,
      stratum: 2,
      answeredAt: at,
    });
    expect(parseNtpq("leap=11, stratum=16, offset=0.000")).toBeUndefined();
    expect(parseNtpq(variables({ leap: "11" }))).toBeUndefined();
    expect(parseNtpq(variables({ stratum: "16" }))).toBeUndefined();
  });

  it("may lack the time of the answer, and goes on in the next era", () => {
    for (const reftime of ["(no time)", "00000000.00000000", "soon"])
      expect(parseNtpq(variables({ reftime }))?.answeredAt).toBeUndefined();
    expect(parseNtpq(variables({ reftime: "00000010.00000000" }))?.answeredAt).toBe(Date.parse("2036-02-07T06:28:32Z"));
  });

  it.each([
    ["no variables", "ntpq: read: Connection refused"],
    ["no offset", variables({ offset: "" })],
    ["an offset that is not a number", variables({ offset: "nan" })],
    ["an endless offset", variables({ offset: "Infinity" })],
    ["an absurd offset", variables({ offset: "1e300" })],
    ["a stratum of words", variables({ stratum: "two" })],
  ])("is an error when it is %s", (_, said) => {
    expect(() => parseNtpq(said)).toThrow("cannot read what ntpd says");
  });
});
