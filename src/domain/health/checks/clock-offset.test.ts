import { describe, expect, it } from "vitest";
import type { RunProgram } from "#domain/ports/host-files.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import type { CheckSettings, Outcome } from "../check.ts";
import {
  clockOffsetCheck,
  judgeOffset,
  parseBusString,
  parseChrony,
  parseNtpq,
  parseTimesync,
  readOffset,
} from "./clock-offset.ts";

const { signal } = new AbortController();
const clock = createFakeClock();
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** @param agoMs how long ago the source answered last; below zero in the future. */
const run = (offsetMs: number, settings: Partial<CheckSettings> = {}, agoMs = minuteMs) =>
  judgeOffset(
    { program: "chrony", server: "192.0.2.1", offsetMs, stratum: 3, answeredAt: clock.now() - agoMs },
    { ignore: [], ...settings },
    clock.now(),
  );

it("clock_offset grades the offset in either direction, up to decades, and fails without a number", () => {
  expect(run(-0.0123)).toEqual({
    status: "pass",
    message: "The clock is 0.012 ms ahead of 192.0.2.1",
    details: {
      offset_ms: -0.012,
      program: "chrony",
      server: "192.0.2.1",
      stratum: 3,
      last_answer_at: "2025-12-31T23:59:00.000Z",
    },
    thresholds: { offset_ms: { warn: -100, fail: -1000 } },
  });
  expect(run(99)).toMatchObject({ status: "pass" });
  expect(run(100)).toMatchObject({
    status: "warn",
    message: "The clock is 100 ms behind 192.0.2.1 (look at chrony and its source)",
  });
  expect(run(-1000)).toMatchObject({ status: "fail" });
  expect(run(5, { warn: 1, fail: 5 })).toMatchObject({ status: "fail" });
  for (const offsetMs of [0, -0, -0.0001])
    expect(run(offsetMs)).toMatchObject({
      status: "pass",
      message: "The clock agrees with 192.0.2.1",
      details: { offset_ms: 0 },
    });
  for (const offsetMs of [3 * hourMs, -3 * hourMs, 56 * 365 * 24 * hourMs])
    expect(run(offsetMs)).toMatchObject({ status: "fail", details: { offset_ms: offsetMs } });
  expect(() => run(Number.NaN)).toThrow("not a number");
});

it("clock_offset keeps its grade while a clock swings around the threshold", () => {
  let found: Outcome = run(120);
  for (const offsetMs of [-120, 99, -98, 99]) {
    found = run(offsetMs, {
      previous: { status: found.status, ...(found.graded && { objects: found.graded }) },
    });
    expect([offsetMs, found.status]).toEqual([offsetMs, "warn"]);
  }
  expect(found.message).toBe(
    "The clock is 99 ms behind 192.0.2.1 (look at chrony and its source) (this check stays at warn until below 97.5 ms)",
  );
});

describe("clock_offset after the clock was set back since the last answer", () => {
  it.each([
    ["that found it right", 0.2],
    ["that found it away a little", 150],
    // The program that found it may have set it back itself.
    ["that found it ahead by as much", -3 * hourMs],
  ])("%s, warns that the offset is not known", (_, offsetMs) => {
    const found = run(offsetMs, {}, -3 * hourMs);
    expect(found).toEqual({
      status: "warn",
      message:
        "The clock was set back after the last answer of 192.0.2.1, which is now 180 min in the future: the offset is unknown (look at chrony and its source)",
      details: expect.objectContaining({ offset_ms: offsetMs, last_answer_at: "2026-01-01T03:00:00.000Z" }),
      graded: {},
      thresholds: { offset_ms: { warn: expect.any(Number), fail: expect.any(Number) } },
    });
  });

  it("that found it too far behind, fails", () => {
    expect(run(2000, {}, -3 * hourMs)).toMatchObject({
      status: "fail",
      message: "The clock is 2000 ms behind 192.0.2.1 (look at chrony and its source)",
    });
  });

  it("passes once there is a new answer", () => {
    const { status, graded = {} } = run(0.2, {}, -3 * hourMs);
    expect(run(99, { previous: { status, objects: graded } }, 0)).toMatchObject({ status: "pass" });
  });

  it("by less than a minute, passes; so it does without a time of the answer", () => {
    expect(run(0.2, {}, -minuteMs)).toMatchObject({ status: "pass" });
    const found = { program: "ntpd", server: "", offsetMs: 1, stratum: 2, answeredAt: undefined };
    expect(judgeOffset(found, { ignore: [] }, clock.now())).toMatchObject({
      status: "pass",
      message: "The clock is 1 ms behind its source",
      details: { last_answer_at: null },
    });
  });
});

/** Programs that run, by what each has meanwhile. */
const places = {
  chrony: "/run/chrony/chronyd.pid",
  timesync: "/run/systemd/timesync/synchronized",
  ntp: "/run/ntpd.pid",
  ntpOfSuse: "/run/ntp/ntpd.pid",
};
type Program = keyof typeof places;
const filesOf = (...programs: readonly Program[]) =>
  createFakeHostFiles(Object.fromEntries(programs.map((name) => [places[name], ""])));
const tracking = "C0000201,192.0.2.1,3,1767258000.5,0.002,0,0,0,0,0,0,0,64,Normal\n";
/** Programs that print this, by their last argument. */
const saying =
  (answers: Readonly<Record<string, string>>): RunProgram =>
  (argv) =>
    Promise.resolve({ exitCode: 0, stdout: answers[argv.at(-1) ?? ""] ?? "", stderr: "" });
const offsetOf = (programs: readonly Program[], exec = saying({ tracking })) =>
  readOffset({ hostFiles: filesOf(...programs), exec }, signal);

it("clock_offset skips without a time daemon, and judges what one says", async () => {
  const checkWith = (...programs: readonly Program[]) =>
    clockOffsetCheck({ hostFiles: filesOf(...programs), exec: saying({ tracking }), clock });
  expect(await checkWith().absent?.()).toMatchObject({ status: "skip" });
  expect(await checkWith().run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
  expect(await checkWith("chrony").absent?.()).toBeUndefined();
  expect(await checkWith("chrony").run({ ignore: [], warn: 1 }, signal)).toMatchObject({
    status: "warn",
    details: { offset_ms: 2, program: "chrony" },
  });
});

describe("the offset of the clock", () => {
  it("is asked of chronyd, timesyncd or ntpd, whichever runs", async () => {
    const found = { server: "192.0.2.1", offsetMs: 2, stratum: 3, answeredAt: 1_767_258_000_500 };
    expect(await offsetOf(["chrony"])).toEqual({ program: "chrony", ...found });
    expect(await offsetOf([])).toBeUndefined();
    const data = [0, 4, 4, 2, 0, 0, 0, [], 1000, 3000, 3000, 1000, false, 1, 0];
    const answers = {
      NTPMessage: JSON.stringify({ type: "(uuuuittayttttbtt)", data }),
      ServerName: JSON.stringify({ type: "s", data: "ntp.example.org" }),
      rv: "stratum=2, refid=192.0.2.9, offset=4.5",
    };
    expect(await offsetOf(["timesync"], saying(answers))).toEqual({
      ...{ program: "systemd-timesyncd", server: "ntp.example.org", offsetMs: 2, stratum: 2, answeredAt: 1 },
    });
    for (const program of ["ntp", "ntpOfSuse"] as const)
      expect(await offsetOf([program], saying(answers))).toMatchObject({ program: "ntpd", offsetMs: 4.5 });
    // A directory that chronyd has left behind.
    const left: RunProgram = (argv, options) =>
      argv[0] === "chronyc"
        ? Promise.resolve({ exitCode: 1, stdout: "", stderr: "506 Cannot talk to daemon" })
        : saying(answers)(argv, options);
    expect(await offsetOf(["chrony", "ntp"], left)).toMatchObject({ program: "ntpd", offsetMs: 4.5 });
  });

  it.each(["oops", "{}", "stratum=2, offset=nan", tracking.replace("0.002", "nan")])(
    "is an error, and not that of a clock in order, where the program answers %j",
    async (text) => {
      const exec = saying({ tracking: text, NTPMessage: text, rv: text });
      for (const [name, program] of [
        ["chrony", "chrony"],
        ["timesync", "systemd-timesyncd"],
        ["ntp", "ntpd"],
      ] as const)
        await expect(offsetOf([name], exec)).rejects.toThrow(`cannot read what ${program} says`);
    },
  );

  const missing = Object.assign(new Error("spawn ENOENT"), { code: "ENOENT" });
  it.each<[string, Program, RunProgram]>([
    [
      "ntpq reaches nobody, which is not an error to it",
      "ntp",
      () => Promise.resolve({ exitCode: 0, stdout: "", stderr: "ntpq: Connection refused\n" }),
    ],
    ["chronyc is not installed", "chrony", () => Promise.reject(new Error("cannot run it", { cause: missing }))],
    [
      "chronyd does not answer",
      "chrony",
      () => Promise.resolve({ exitCode: 1, stdout: "", stderr: "506 Cannot talk" }),
    ],
  ])("is undefined where %s", async (_, program, exec) => {
    expect(await offsetOf([program], exec)).toBeUndefined();
  });
});

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
    expect(() => parseChrony(text)).toThrow("cannot read what chrony says");
  });
});

describe("the last answer that timesyncd had", () => {
  const micros = at * 1000;
  // The clock is 250 ms behind, the way takes 20 ms in each direction.
  const timestamps: readonly [number, number, number, number] = [
    micros,
    micros + 270_000,
    micros + 270_100,
    micros + 40_100,
  ];
  const message = (changes: { leap?: number; stratum?: number; times?: readonly unknown[] } = {}) => {
    const { leap = 0, stratum = 2, times = timestamps } = changes;
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
    const [origin, received, sent, arrived] = timestamps;
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
    ["times of which one is missing", text(message({ times: timestamps.slice(0, 2) }))],
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

  it("may lack the time of the answer, and continues in the next era", () => {
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
