import type { SystemInfo } from "#contract/system.ts";
import type { HostFacts, Zombie } from "#domain/ports/host.ts";

const info: SystemInfo = {
  hostname: "testhost",
  os: { name: "Debian GNU/Linux", version: "12", kernel: "6.1.0" },
  cpu: { model: "Test CPU", cores: 2, threads: 4, load_percent: 12.5 },
  memory: { total_bytes: 8_000_000_000, available_bytes: 6_000_000_000, percent_used: 25 },
  disk: { path: "/", total_bytes: 100_000_000_000, free_bytes: 40_000_000_000, percent_used: 60 },
};

/** What the kernel reports. */
export interface FakeFigures {
  readonly memory: Awaited<ReturnType<HostFacts["memory"]>>;
  readonly cpuPercent: number;
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
  zombies: [],
};

/** An idle host that never changes, with the given figures. */
export function createFakeHostFacts(given: Partial<FakeFigures> = {}): HostFacts {
  const figures = { ...idle, ...given };
  return {
    info: () => Promise.resolve(info),
    memory: () => Promise.resolve(figures.memory),
    cpuPercent: () => Promise.resolve(figures.cpuPercent),
    zombies: () => Promise.resolve(figures.zombies),
  };
}
