import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { HostFacts } from "#domain/ports/host.ts";
import { isProcessGone, orUndefined, orUndefinedSync } from "#kernel/errors.ts";
import type { ContainerLimits } from "./cgroup.ts";
import type { CpuLoad } from "./cpu-load.ts";
import { parseMemory, parseSwap } from "./parse.ts";
import { type ProcessStat, parseProcessStat } from "./process-stat.ts";

/** Processes inspected between two turns of the event loop: about a millisecond. */
const batchSize = 64;

const readProcess = (procDir: string, pid: string): ProcessStat | undefined =>
  orUndefinedSync(() => parseProcessStat(readFileSync(join(procDir, pid, "stat"), "utf8")), isProcessGone);

async function readProcesses(procDir: string): Promise<readonly ProcessStat[]> {
  const pids = readdirSync(procDir).filter((name) => /^\d+$/.test(name));
  const found: ProcessStat[] = [];
  for (const [at, pid] of pids.entries()) {
    if (at % batchSize === batchSize - 1) await nextTurn();
    const process = readProcess(procDir, pid);
    if (process !== undefined) found.push(process);
  }
  return found;
}

/**
 * Statistics of the cache of ZFS, which count where this is not a container: those in one are the host's, whose cache does not count against
 * the container.
 */
export const arcstatsFile = (procDir: string): string =>
  existsSync("/run/systemd/container") ? "/dev/null" : join(procDir, "spl/kstat/zfs/arcstats");

/** Memory is cut to the limit of the container; swap is the host's. */
export function createKernelLoad(ports: {
  cpuLoad: Pick<CpuLoad, "averagePercent">;
  limits: ContainerLimits;
  procDir: string;
}): Omit<HostFacts, "info"> {
  const { cpuLoad, limits, procDir } = ports;
  const read = (path: string): Promise<string> => readFile(join(procDir, path), "utf8");

  return {
    async memory() {
      const text = await read("meminfo");
      const arcstats = (await orUndefined(readFile(arcstatsFile(procDir), "utf8"))) ?? "";
      return { ...limits.memory(parseMemory(text, arcstats)), ...parseSwap(text) };
    },
    cpuPercent: cpuLoad.averagePercent,
    async zombies() {
      const all = await readProcesses(procDir);
      const names = new Map(all.map(({ pid, name }) => [pid, name]));
      return all
        .filter(({ state }) => state === "Z")
        .map(({ pid, name, parentPid }) => ({ pid, name, parentPid, parentName: names.get(parentPid) ?? "" }));
    },
  };
}
