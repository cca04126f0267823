import { describe, expect, it } from "vitest";
import type { HealthCheckResult } from "#contract/checks.ts";
import type { Context } from "#contract/operation.ts";
import { type Reads, surroundings } from "./surroundings.ts";

const finding = (id: string, details: object = {}) => ({ check_id: id, details }) as unknown as HealthCheckResult;

/** Answers as others give them, and notes what they were asked. */
function fakeReads() {
  const asked: unknown[] = [];
  const process = { pid: 7, name: "java", unit: "shop.service", user: "shop", cpu_percent: 97, memory_bytes: 2 ** 30 };
  const reads = {
    listProcesses: (input: { query: object }) => {
      asked.push(input.query);
      return { processes: [process] };
    },
    getDiskUsage: (input: { query: object }) => {
      asked.push(input.query);
      const largest = [
        { path: "/srv/backup", type: "folder", bytes: 3 * 2 ** 30, entries: 12 },
        { path: "/srv/core.1", type: "file", bytes: 2 ** 20, entries: 0 },
      ];
      return { largest, truncated: "time" };
    },
  };
  return { asked, reads: reads as unknown as Reads };
}

const titlesOf = (result: HealthCheckResult): readonly string[] =>
  surroundings.filter(({ concerns }) => concerns(result)).map(({ title }) => title);

async function linesOf(result: HealthCheckResult, title: RegExp) {
  const { asked, reads } = fakeReads();
  const found = surroundings.find((each) => each.concerns(result) && title.test(each.title));
  return { asked, lines: await found?.read(reads, result, {} as Context) };
}

describe("what stands around a finding", () => {
  it("of load are the processes by processor time, of memory those by memory", async () => {
    const line = "java[7] of shop.service as shop: 97 % processor, 1024 MiB";
    expect(await linesOf(finding("cpu_load"), /processors/)).toEqual({
      asked: [{ sort: "cpu", limit: 8 }],
      lines: [line],
    });
    expect(await linesOf(finding("oom_kills"), /memory/)).toEqual({
      asked: [{ sort: "memory", limit: 8 }],
      lines: [line],
    });
  });

  it("of a full disk are the directories and files that take most of the fullest file system", async () => {
    expect(await linesOf(finding("disk_space", { path: "/srv" }), /room/)).toEqual({
      asked: [{ path: "/srv", depth: 4, limit: 12 }],
      lines: ["/srv/backup/: 3072 MiB in 12 entries", "/srv/core.1: 1 MiB", "not all of it was read (time)"],
    });
    expect(titlesOf(finding("disk_space")).join()).not.toContain("room");
  });

  it("of any other finding is the host, other findings and changes", () => {
    expect(titlesOf(finding("dns_resolution"))).toEqual([
      ...["Host", "Other checks that fail or warn", "Packages changed lately", "Changes through this service lately"],
    ]);
  });
});
