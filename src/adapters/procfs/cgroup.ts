import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { orElse } from "#kernel/errors.ts";
import { flatKey } from "#kernel/text.ts";
import { type Memory, parseCpuMax } from "./parse.ts";

/** Of the root group: in a container its own. A limit on Steward's unit says nothing about the host. */
export type ContainerLimits = ReturnType<typeof createContainerLimits>;

const readOptional = (path: string): string | undefined => orElse(() => readFileSync(path, "utf8"), undefined);

const readNumber = (path: string): number | undefined => {
  const text = readOptional(path)?.trim();
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
};

export function createContainerLimits(root = "/sys/fs/cgroup") {
  const v1 = (controller: string, file: string): string => join(root, controller, file);

  // Whether there is a limit at all does not change while the mount stands, and most hosts have none to read.
  const limitFile = [join(root, "memory.max"), v1("memory", "memory.limit_in_bytes")].find((file) => existsSync(file));
  const memoryLimit = (): number | undefined => (limitFile === undefined ? undefined : readNumber(limitFile));

  /** Page cache that is not in use can be given back at once, so it counts as available. */
  const memoryInUse = (): number | undefined => {
    const used = readNumber(join(root, "memory.current")) ?? readNumber(v1("memory", "memory.usage_in_bytes"));
    const stat = readOptional(join(root, "memory.stat")) ?? readOptional(v1("memory", "memory.stat")) ?? "";
    const reclaimable = flatKey(stat, "total_inactive_file") ?? flatKey(stat, "inactive_file") ?? 0;
    return used === undefined ? undefined : Math.max(0, used - reclaimable);
  };

  return {
    memory(host: Memory): Memory {
      const limit = memoryLimit();
      const inUse = limit === undefined || limit >= host.totalBytes ? undefined : memoryInUse();
      if (limit === undefined || inUse === undefined) return host;
      return { totalBytes: limit, availableBytes: Math.max(0, Math.min(limit - inUse, host.availableBytes)) };
    },
    cpus(): number | undefined {
      const v2 = readOptional(join(root, "cpu.max"));
      if (v2 !== undefined) return parseCpuMax(v2);
      const quota = readNumber(v1("cpu", "cpu.cfs_quota_us"));
      const period = readNumber(v1("cpu", "cpu.cfs_period_us"));
      return quota === undefined || !period ? undefined : quota / period;
    },
    cpuTimeMicros(): number | undefined {
      const v2 = flatKey(readOptional(join(root, "cpu.stat")) ?? "", "usage_usec");
      if (v2 !== undefined) return v2;
      const nanos = readNumber(v1("cpuacct", "cpuacct.usage"));
      return nanos === undefined ? undefined : nanos / 1000;
    },
  };
}
