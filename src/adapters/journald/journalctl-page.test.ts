import { describe, expect, it } from "vitest";
import type { LogEntry } from "#contract/log-entry.ts";
import { createPage } from "./journalctl-page.ts";

const entry = (number: number, message = ""): LogEntry => ({
  timestamp: "2023-11-14T22:13:20.000042Z",
  unit: "",
  priority: 6,
  message,
  cursor: `c${number}`,
  identifier: "",
  pid: null,
  hostname: "",
  boot_id: "",
});

function pageOf(query: { limit: number; order: "asc" | "desc"; cursor?: string }, count: number) {
  const page = createPage({ cursor: undefined, ...query });
  for (let number = 1; number <= count; number += 1) page.add(entry(number));
  const { logs, total, next_cursor }: { logs: LogEntry[]; total: number; next_cursor: string | null } = JSON.parse(
    page.write(99).toString(),
  );
  return { cursors: logs.map(({ cursor }) => cursor), total, next: next_cursor };
}

describe("a page of what journalctl reads", () => {
  it.each([
    [{ limit: 3, order: "asc" }, 1000, ["c998", "c999", "c1000"], "c1000"],
    [{ limit: 3, order: "asc" }, 0, [], null],
    [{ limit: 3, order: "desc" }, 1000, ["c1000", "c999", "c998"], "c998"],
    [{ limit: 3, order: "desc" }, 3, ["c3", "c2", "c1"], null],
    [{ limit: 3, order: "asc", cursor: "c0" }, 5, ["c1", "c2", "c3"], "c3"],
    [{ limit: 3, order: "asc", cursor: "c0" }, 0, [], "c0"],
    [{ limit: 1, order: "desc", cursor: "c9" }, 2, ["c2"], "c2"],
    [{ limit: 1, order: "desc", cursor: "c9" }, 0, [], null],
  ] as const)("has the right end for %j of %i entries", (query, count, cursors, next) => {
    expect(pageOf(query, count)).toEqual({ cursors, total: 99, next });
  });

  it("has fewer entries where it would be too large, those that come first", () => {
    const big = "x".repeat(40 * 1024 * 1024);
    const write = (query: { limit: number; order: "asc" | "desc"; cursor?: string }, messages: readonly string[]) => {
      const page = createPage({ cursor: undefined, ...query });
      for (const [index, message] of messages.entries()) page.add(entry(index, message));
      const { logs, next_cursor }: { logs: LogEntry[]; next_cursor: string | null } = JSON.parse(
        page.write(0).toString(),
      );
      return [...logs.map(({ cursor }) => cursor), next_cursor];
    };
    expect(write({ limit: 2, order: "desc" }, [big, big, "small", "small"])).toEqual(["c3", "c2", "c2"]);
    expect(write({ limit: 2, order: "desc" }, [big, big])).toEqual(["c1", "c1"]);
    expect(write({ limit: 9, order: "asc" }, [big, "small", big, "small"])).toEqual(["c1", "c2", "c3", "c3"]);
    expect(write({ limit: 9, order: "asc", cursor: "c" }, ["small", big, big, "small"])).toEqual(["c0", "c1", "c1"]);
  });
});
