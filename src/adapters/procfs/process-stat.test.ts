import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAuxiliary, parseCommand, parseIo, parseProcessStat, processState } from "./process-stat.ts";

/** A line as the kernel writes it (fs/proc/array.c), with the fields that are read. */
const line = (
  name: string,
  {
    pid = 42,
    state = "S",
    parent = 1,
    flags = 4_194_560,
    user = 5,
    system = 6,
    threads = 3,
    start = 7788,
    rss = 99,
  } = {},
): string =>
  `${pid} (${name}) ${state} ${parent} 42 42 0 -1 ${flags} 10 0 0 0 ${user} ${system} 0 0 20 0 ${threads} 0 ${start} 123456 ${rss} 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n`;

describe("/proc/PID/stat", () => {
  it.each(["cron", "a b", "a) b (c", ") S 1 1", "((", "))", "", "two\nlines", "(sd-pam)", "a) R 9 9 9 (b"])(
    "is read behind the name %j",
    (name) => {
      expect(parseProcessStat(line(name))).toEqual({
        pid: 42,
        name,
        state: "S",
        parentPid: 1,
        isKernelThread: false,
        cpuTicks: 11,
        threads: 3,
        startTicks: 7788,
        residentPages: 99,
      });
    },
  );

  it("is read whatever the name and the numbers", () => {
    const natural = fc.nat({ max: 4_194_304 });
    const given = fc.record({
      pid: fc.integer({ min: 1, max: 4_194_304 }),
      state: fc.constantFrom(..."RSDTtZXIP".split("")),
      parent: natural,
      user: fc.maxSafeNat().map((value) => Math.floor(value / 2)),
      system: natural,
      threads: natural,
      start: fc.maxSafeNat(),
      rss: natural,
    });
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 20 }), given, (name, values) => {
        expect(parseProcessStat(line(name, values))).toMatchObject({
          pid: values.pid,
          name,
          state: values.state,
          parentPid: values.parent,
          cpuTicks: values.user + values.system,
          threads: values.threads,
          startTicks: values.start,
          residentPages: values.rss,
        });
      }),
    );
  });

  it("is rejected when malformed, and never throws", () => {
    for (const text of ["", "42", "42 (sh", "42 sh) S 1", "(sh) S 1 2", "x (sh) S 1", "42 (sh) S 1 2 3"])
      expect([text, parseProcessStat(text)]).toEqual([text, undefined]);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."()0 S\n".split("")) })), (text) => {
        const found = parseProcessStat(text);
        expect(found === undefined || Number.isFinite(found.startTicks)).toBe(true);
      }),
    );
    const whole = line("a) b");
    for (let end = 0; end < whole.indexOf("123456"); end += 1)
      expect(parseProcessStat(whole.slice(0, end))).toBeUndefined();
  });

  it("marks kernel threads", () => {
    expect(parseProcessStat(line("kthreadd", { flags: 2_129_984 }))?.isKernelThread).toBe(true);
  });

  it("is read for every process of this machine", () => {
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      let text = "";
      try {
        text = readFileSync(`/proc/${pid}/stat`, "utf8");
      } catch {
        continue;
      }
      expect(parseProcessStat(text)?.pid).toBe(Number(pid));
    }
  });
});

it("the state, command line and I/O of a process are read", () => {
  expect("RSDTtZXIPQ".split("").map((letter) => processState(letter))).toEqual([
    ...["running", "sleeping", "disk_sleep", "stopped", "traced", "zombie", "dead", "idle", "parked", "unknown"],
  ]);
  expect(parseCommand("/bin/sh\0-c\0echo a\0")).toBe("/bin/sh -c echo a");
  expect(parseCommand("nginx: worker process\0\0\0\0")).toBe("nginx: worker process");
  expect(parseCommand("a\0\0b\0")).toBe("a  b");
  expect(parseCommand("")).toBe("");
  const text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
  expect(parseIo(text)).toEqual({ readBytes: 5, writtenBytes: 6 });
  expect(parseIo("")).toBeUndefined();
});

it("the auxiliary vector has the sizes of pages and ticks", () => {
  const words = (list: readonly number[]): Buffer => {
    const bytes = Buffer.alloc(list.length * 8);
    for (const [at, word] of list.entries()) bytes.writeBigUInt64LE(BigInt(word), at * 8);
    return bytes;
  };
  expect(parseAuxiliary(words([6, 65_536, 17, 250, 0, 0]), true)).toEqual({ pageBytes: 65_536, ticksPerSecond: 250 });
  expect(parseAuxiliary(words([]), true)).toEqual({ pageBytes: 4096, ticksPerSecond: 100 });
  expect(parseAuxiliary(readFileSync("/proc/self/auxv"), true)).toMatchObject({ ticksPerSecond: 100 });
});
