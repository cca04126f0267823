import { expect, it } from "vitest";
import { parseChrony, parseNtpq, parseTimesync } from "./parse.ts";

it("reads what chronyc says", () => {
  const tracking =
    "C0000201,192.0.2.1,3,1767258000.123456789,0.012345678,0.000001,0.000023,-12.345,0.001,0.02,0.0123,0.0004,64.2,Normal\n";
  expect(parseChrony(tracking)).toEqual({
    program: "chrony",
    server: "192.0.2.1",
    offsetMs: expect.closeTo(12.345678, 6),
    stratum: 3,
  });
  const none = "00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n";
  expect(parseChrony(none)).toBeUndefined();
});

it("has the offset of timesyncd from the timestamps of the last answer", () => {
  const at = 1_767_258_000_000_000;
  // The clock is 250 ms behind, the way takes 20 ms in each direction.
  const message = [
    0,
    4,
    4,
    2,
    -24,
    1000,
    2000,
    [192, 0, 2, 1],
    at,
    at + 270_000,
    at + 270_100,
    at + 40_100,
    false,
    7,
    900,
  ];
  const text = (data: unknown) => JSON.stringify({ type: "(uuuuittayttttbtt)", data });
  expect(parseTimesync(text(message))).toEqual({
    program: "systemd-timesyncd",
    server: "",
    offsetMs: 250,
    stratum: 2,
  });
  expect(parseTimesync(text(message.map((each) => (typeof each === "number" ? 0 : each))))).toBeUndefined();
  expect(parseTimesync("no JSON")).toBeUndefined();
});

it("reads what ntpq says", () => {
  const variables = [
    "associd=0 status=0615 leap_none, sync_ntp, 1 event, clock_sync,",
    'version="ntpd ntpsec-1.2.2", processor="x86_64", leap=00, stratum=2, precision=-23,',
    "rootdelay=12.3, rootdisp=15.6, refid=192.0.2.1, offset=-1.234567, sys_jitter=0.5",
  ].join("\n");
  expect(parseNtpq(variables)).toEqual({ program: "ntpd", server: "192.0.2.1", offsetMs: -1.234567, stratum: 2 });
  expect(parseNtpq("leap=11, stratum=16, offset=0.000")).toBeUndefined();
});
