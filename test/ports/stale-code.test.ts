import { describe, expect, it } from "vitest";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createFakeStaleCode, fakeStaleProcess } from "../fakes/stale-code.ts";

describe.each([
  ["fake", () => createFakeStaleCode([fakeStaleProcess("web.service"), fakeStaleProcess(null, { pid: 101 })])],
  ["procfs", () => createStaleCode()],
])("stale code: %s", (_, make) => {
  it("is named by process, each once, with the files that were replaced", async () => {
    const { processes, hidden } = await make().find(new AbortController().signal);
    expect(processes.map(({ pid }) => pid)).toEqual(
      [...new Set(processes.map(({ pid }) => pid))].sort((a, b) => a - b),
    );
    for (const { files, unit } of processes) {
      expect(files).not.toEqual([]);
      expect(unit ?? "none.service").toMatch(/\.service$/);
    }
    expect(hidden).toBeGreaterThanOrEqual(0);
  });
});
