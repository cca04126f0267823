import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { hostname } from "node:os";
import { distributionOf, parseOsRelease } from "#adapters/files/etc.ts";
import type { HostFacts } from "#domain/ports/host.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { orElse } from "#kernel/errors.ts";
import { type ContainerLimits, createContainerLimits } from "./cgroup.ts";
import { type CpuLoad, startCpuLoad } from "./cpu-load.ts";
import { arcstatsFile, createKernelLoad } from "./kernel-load.ts";
import { type CpuInfo, parseCpuInfo, parseMemory } from "./parse.ts";

export interface ProcHostFacts extends HostFacts {
  readonly memoryPercent: () => number;
  readonly diskPercent: () => Promise<number>;
  readonly cpuTimes: CpuLoad["take"];
  readonly dispose: Dispose;
}

const readProcFile = (path: string): string => orElse(() => readFileSync(path, "utf8"), "");

const roundPercent = (share: number): number => Math.round(share * 1000) / 10;

function readOs(procDir: string): { name: string; version: string; kernel: string } {
  const release = parseOsRelease(readProcFile("/etc/os-release") || readProcFile("/usr/lib/os-release"));
  return {
    ...distributionOf(release),
    kernel: readProcFile(`${procDir}/sys/kernel/osrelease`).trim(),
  };
}

function readCpu(procDir: string, limits: ContainerLimits): CpuInfo {
  const { model, cores, threads } = parseCpuInfo(readProcFile(`${procDir}/cpuinfo`));
  const deviceModel = () => readProcFile(`${procDir}/device-tree/model`).replaceAll("\0", "");
  const allowed = Math.min(threads, Math.ceil(limits.cpus() ?? threads));
  return { model: model || deviceModel() || process.arch, cores: Math.min(cores, allowed), threads: allowed };
}

async function readDisk(path: string) {
  const { frsize, blocks, bfree, bavail } = await statfs(path);
  const used = blocks - bfree;
  const usable = used + bavail;
  return {
    path,
    total_bytes: blocks * frsize,
    free_bytes: bavail * frsize,
    percent_used: usable === 0 ? 0 : roundPercent(used / usable),
  };
}

function readMemory(procDir: string, limits: ContainerLimits) {
  const { totalBytes, availableBytes } = limits.memory(
    parseMemory(readProcFile(`${procDir}/meminfo`), readProcFile(arcstatsFile(procDir))),
  );
  return {
    total_bytes: totalBytes,
    available_bytes: availableBytes,
    percent_used: totalBytes === 0 ? 0 : roundPercent((totalBytes - availableBytes) / totalBytes),
  };
}

export function createHostFacts(ports: { clock: Clock; procDir?: string }): ProcHostFacts {
  const { clock, procDir = "/proc" } = ports;
  const limits = createContainerLimits();
  const load = startCpuLoad({ clock, limits, procDir });
  // Neither changes while the host is up, and /proc/cpuinfo is slow to make on a machine with many processors.
  const os = readOs(procDir);
  const cpu = readCpu(procDir, limits);
  return {
    async info() {
      const memory = readMemory(procDir, limits);
      return {
        hostname: hostname(),
        os,
        cpu: { ...cpu, load_percent: Math.round((await load.percent()) * 10) / 10 },
        memory,
        disk: await readDisk("/"),
      };
    },
    ...createKernelLoad({ cpuLoad: load, limits, procDir }),
    memoryPercent: () => readMemory(procDir, limits).percent_used,
    diskPercent: async () => (await readDisk("/")).percent_used,
    cpuTimes: load.take,
    dispose: load.dispose,
  };
}
