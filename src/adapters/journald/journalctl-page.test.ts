import { expect, it } from "vitest";
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

// Its ends and its next cursor, test/ports/journal-differential.test.ts compares with journalctl.
it("a page of what journalctl reads has fewer entries where it would be too large, those that come first", () => {
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
