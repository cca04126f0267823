import { closeSync, fstatSync, openSync } from "node:fs";
import { expect, it } from "vitest";
import { createLogs } from "./logger.ts";
import { isJournal, withPriorities } from "./outputs.ts";

const requestLine = {
  request_id: "AbCdEfGh-1",
  trace_id: undefined,
  key_id: "k1234567",
  session_id: undefined,
  method: "GET",
  endpoint: "/livez",
  status: 200,
  duration_ms: 0.125,
  remote_address: null,
};

it("a log line has the priority of its level, also of requests and from child loggers", () => {
  const lines: string[] = [];
  const { log, requestLog } = createLogs({
    level: "trace",
    writer: withPriorities({ write: (line) => void lines.push(line) }),
  });
  for (const level of ["trace", "debug", "info", "warn", "error", "fatal"] as const) log[level]("m");
  for (const level of ["debug", "info"] as const) requestLog(level, requestLine);
  log.child({ a: 1 }).error("m");
  log.info("m");
  expect(lines.map((line) => line.slice(0, line.indexOf("{")))).toEqual([
    ...["<7>", "<7>", "", "<4>", "<3>", "<2>", "<7>", "", "<3>", ""],
  ]);
  expect(lines.map((line) => (JSON.parse(line.slice(line.indexOf("{"))) as { level: string }).level)).toEqual([
    ...["trace", "debug", "info", "warn", "error", "fatal", "debug", "info", "error", "info"],
  ]);
});

it("the journal is recognized by the connected stream, not by the variable alone", () => {
  const fd = openSync("/dev/null", "w");
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    expect(isJournal(fd, { JOURNAL_STREAM: `${dev}:${ino}` })).toBe(true);
    expect(isJournal(fd, { JOURNAL_STREAM: `${dev}:${ino + 1n}` })).toBe(false);
    expect(isJournal(fd, { JOURNAL_STREAM: "" })).toBe(false);
    expect(isJournal(fd, {})).toBe(false);
  } finally {
    closeSync(fd);
  }
});
