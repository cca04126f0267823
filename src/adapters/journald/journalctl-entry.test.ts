import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import { parseJournalctlLine } from "./journalctl-entry.ts";

const boot = "b".repeat(32);
const base = {
  __CURSOR: `s=${"a".repeat(32)};i=2f;b=${boot};m=10;t=60a24181e4000;x=abc`,
  __REALTIME_TIMESTAMP: "1700000000000042",
};
const parse = (fields: Record<string, unknown>) =>
  parseJournalctlLine(Buffer.from(JSON.stringify({ ...base, ...fields })));
const coredump = "fc2e22bc6ee647b6b90729ab34a250b1";

type Fields = Readonly<Record<string, unknown>>;
const messages: readonly (readonly [value: unknown, shown: string])[] = [
  ["plain", "plain"],
  [[0x1b, 0x5b, 0xc3, 0xa9], "\u001b[é"],
  [[0x41, 0xff, 0xfe], "A\ufffd\ufffd"],
  [[], ""],
  [["one", "two"], "one"],
  [[[0xff, 0x41], [0x42]], "\ufffdA"],
  [[[0x42], "two"], "B"],
  [null, ""],
  [{ a: 1 }, ""],
];

describe("a line of journalctl", () => {
  it("becomes an entry with its units and severity", () => {
    const line = {
      MESSAGE: "hello",
      PRIORITY: "3",
      _SYSTEMD_UNIT: "a.service",
      _SYSTEMD_SLICE: "system.slice",
      SYSLOG_IDENTIFIER: "app",
      _PID: "12",
      SYSLOG_PID: "13",
      _HOSTNAME: "host",
    };
    expect(parse(line)?.live).toEqual({
      entry: {
        timestamp: "2023-11-14T22:13:20.000042Z",
        unit: "a.service",
        priority: 3,
        message: "hello",
        cursor: base.__CURSOR,
        identifier: "app",
        pid: 12,
        hostname: "host",
        boot_id: boot,
      },
      units: ["a.service", "system.slice"],
      priority: 3,
      namespace: "",
    });
  });

  it("has the defaults of the contract for absent fields", () => {
    expect(parse({})?.live).toEqual({
      entry: {
        timestamp: "2023-11-14T22:13:20.000042Z",
        unit: "",
        priority: 6,
        message: "",
        cursor: base.__CURSOR,
        identifier: "",
        pid: null,
        hostname: "",
        boot_id: boot,
      },
      units: [],
      namespace: "",
      priority: null,
    });
  });

  it.each<readonly [Fields, Partial<LogEntry>]>([
    ...messages.map(([MESSAGE, message]) => [{ MESSAGE }, { message }] as const),
    [{ SYSLOG_PID: "77" }, { pid: 77 }],
    [{ _PID: "0", SYSLOG_PID: "77" }, { pid: 77 }],
    [{ _PID: "x" }, { pid: null }],
    [{ _PID: "99999999999999999999" }, { pid: null }],
    [{ _PID: ["5", "6"] }, { pid: 5 }],
    [{ _TRANSPORT: "kernel", _SYSTEMD_UNIT: "a.service" }, { unit: "kernel" }],
  ])("with %j is shown with %j", (fields, shown) => {
    expect(parse(fields)?.live.entry).toMatchObject(shown);
  });

  it("has a severity that is shown, and one as it was written", () => {
    const severities = ["9", "", "03", "7", ["2", "5"]].map((PRIORITY) => {
      const live = parse({ PRIORITY })?.live;
      return [live?.entry.priority, live?.priority];
    });
    expect(severities).toEqual([
      [6, null],
      [6, null],
      [6, null],
      [7, 7],
      [2, 2],
    ]);
  });

  it.each<readonly [Fields, units: readonly string[]]>([
    [{ _SYSTEMD_UNIT: "init.scope", UNIT: "a.service", _PID: "1" }, ["a.service", "init.scope"]],
    [{ UNIT: "a.service", _PID: "10" }, []],
    [{ COREDUMP_UNIT: "a.service", MESSAGE_ID: coredump, _UID: "0" }, ["a.service"]],
    [{ COREDUMP_UNIT: "a.service", MESSAGE_ID: coredump, _UID: "7" }, []],
    [{ COREDUMP_UNIT: "a.service", _UID: "0" }, []],
    [{ OBJECT_SYSTEMD_UNIT: "a.service", _UID: "0" }, ["a.service"]],
    [{ OBJECT_SYSTEMD_UNIT: "a.service", _UID: "1000" }, []],
    [{ _TRANSPORT: "kernel" }, ["kernel"]],
    [{ _SYSTEMD_UNIT: ["a.service", "b.service"] }, ["a.service", "b.service"]],
  ])("has the units of %j", (fields, units) => {
    expect([...(parse(fields)?.live.units ?? [])].sort()).toEqual(units);
  });

  it.each([
    ["no JSON", "-- No entries --"],
    ["cut JSON", '{"MESSAGE":"a'],
    ["no object", "[1]"],
    ["null", "null"],
    ["no cursor", '{"__REALTIME_TIMESTAMP":"1"}'],
    ["no moment", JSON.stringify({ __CURSOR: base.__CURSOR })],
    ["a moment beyond all calendars", JSON.stringify({ ...base, __REALTIME_TIMESTAMP: "9999999999999999999" })],
  ])("is no entry when it is %s", (_, line) => {
    expect(parseJournalctlLine(Buffer.from(line))).toBeUndefined();
  });

  it("never throws, whatever its bytes", () => {
    const names = [
      "MESSAGE",
      "PRIORITY",
      "_PID",
      "UNIT",
      "_TRANSPORT",
      "__CURSOR",
      "__REALTIME_TIMESTAMP",
      "__proto__",
    ];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(parseJournalctlLine(Buffer.from(bytes))).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), fc.jsonValue()), (fields) => {
        const record = parse(fields);
        if (record !== undefined) expect(record.live.entry.message).toBeTypeOf("string");
      }),
    );
  });
});
