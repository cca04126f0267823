import type { KernelLoad, Zombie } from "#domain/ports/host.ts";

/** What the kernel tells. */
export interface FakeFigures {
  readonly memory: Awaited<ReturnType<KernelLoad["memory"]>>;
  readonly cpuPercent: number;
  readonly fileHandles: Awaited<ReturnType<KernelLoad["fileHandles"]>>;
  readonly zombies: readonly Zombie[];
}

const idle: FakeFigures = {
  memory: {
    totalBytes: 8_000_000_000,
    availableBytes: 6_000_000_000,
    swapTotalBytes: 2_000_000_000,
    swapFreeBytes: 2_000_000_000,
  },
  cpuPercent: 12.5,
  fileHandles: { used: 1_000, maximum: 100_000 },
  zombies: [],
};

/** An idle kernel, or one with the given figures. */
export function createFakeKernelLoad(given: Partial<FakeFigures> = {}): KernelLoad {
  const figures = { ...idle, ...given };
  return {
    memory: () => Promise.resolve(figures.memory),
    cpuPercent: () => Promise.resolve(figures.cpuPercent),
    fileHandles: () => Promise.resolve(figures.fileHandles),
    zombies: () => Promise.resolve(figures.zombies),
  };
}
