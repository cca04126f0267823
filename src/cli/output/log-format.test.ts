import { describe, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import { formatEntry } from "./log-format.ts";
import { plainScreen } from "./screen.ts";

const coloured = { ...plainScreen, hasColours: true };

const entry = (rest: Partial<LogEntry> = {}): LogEntry => ({
  timestamp: new Date(2026, 0, 3, 4, 5, 6).toISOString(),
  unit: "nginx.service",
  priority: 6,
  message: "started",
  cursor: "c",
  identifier: "nginx",
  pid: 12,
  hostname: "web1",
  boot_id: "b",
  ...rest,
});

describe("a log entry on a terminal", () => {
  it("has the line of journalctl, with further lines indented", () => {
    expect(formatEntry(entry(), "short", plainScreen)).toBe("Jan 03 04:05:06 web1 nginx[12]: started\n");
    expect(formatEntry(entry({ pid: null, identifier: "" }), "short", plainScreen)).toBe(
      "Jan 03 04:05:06 web1 nginx.service: started\n",
    );
    expect(formatEntry(entry(), "short-iso", plainScreen)).toMatch(
      /^2026-01-03T04:05:06[+-]\d{4} web1 nginx\[12\]: started\n$/,
    );
    expect(formatEntry(entry({ message: "one\ntwo\n" }), "short", plainScreen)).toBe(
      `Jan 03 04:05:06 web1 nginx[12]: one\n${" ".repeat(32)}two\n`,
    );
  });

  it.each([
    [0, "\u001b[31mstarted\u001b[39m"],
    [3, "\u001b[31mstarted\u001b[39m"],
    [4, "\u001b[33mstarted\u001b[39m"],
    [5, "\u001b[1mstarted\u001b[22m"],
    [6, "started"],
    [7, "\u001b[2mstarted\u001b[22m"],
  ])("has the colour of priority %i", (priority, shown) => {
    expect(formatEntry(entry({ priority }), "cat", coloured)).toBe(`${shown}\n`);
  });

  it("has no control sequences", () => {
    const hostile = {
      message:
        "a\u001b[2Jb\u001b]0;title\u0007c\u009b31md\u001b]8;;http://x\u001b\\e\u0008f\rg\u202eh\u001bPq\u001b\\i",
      identifier: "x\u001b[31m\ny",
      hostname: "h\u0007ost",
    };
    const text = formatEntry(entry(hostile), "short", plainScreen);
    expect(text.slice(0, -1)).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(text).toContain("abcde\ufffdf\ufffdghi");
  });
});
