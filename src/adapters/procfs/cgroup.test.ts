import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createContainerLimits } from "./cgroup.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-cgroup-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
};
const host = { totalBytes: 1000, availableBytes: 900 };

it("cgroup limits: a host has none", () => {
  const limits = createContainerLimits(root);
  expect([limits.memory(host), limits.cpus(), limits.cpuTimeMicros()]).toEqual([host, undefined, undefined]);
  write({ "memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "100\n" });
  expect(createContainerLimits(root).memory(host)).toEqual(host);
});

it("cgroup limits: memory is that of the container without its cache, and at most that of the host", () => {
  write({ "memory.max": "400\n", "memory.current": "300\n", "memory.stat": "anon 1\ninactive_file 120\n" });
  expect(createContainerLimits(root).memory(host)).toEqual({ totalBytes: 400, availableBytes: 220 });
  write({ "memory.max": "800\n", "memory.current": "0\n", "cpu.max": "max 100000\n", "cpu.stat": "usage_usec 5\n" });
  const limits = createContainerLimits(root);
  expect(limits.memory({ totalBytes: 1000, availableBytes: 100 })).toEqual({ totalBytes: 800, availableBytes: 100 });
  expect([limits.cpus(), limits.cpuTimeMicros()]).toEqual([undefined, 5]);
});

it("cgroup limits: files of v1 are read", () => {
  write({
    "memory/memory.limit_in_bytes": "400\n",
    "memory/memory.usage_in_bytes": "300\n",
    "memory/memory.stat": "inactive_file 9\ntotal_inactive_file 50\n",
    "cpu/cpu.cfs_quota_us": "50000\n",
    "cpu/cpu.cfs_period_us": "100000\n",
    "cpuacct/cpuacct.usage": "7000000\n",
  });
  const limits = createContainerLimits(root);
  expect(limits.memory(host)).toEqual({ totalBytes: 400, availableBytes: 150 });
  expect([limits.cpus(), limits.cpuTimeMicros()]).toEqual([0.5, 7000]);
});
