import type { SystemInfo } from "#contract/system.ts";
import type { HostFacts } from "#domain/ports/host.ts";

const info: SystemInfo = {
  hostname: "testhost",
  os: { name: "Debian GNU/Linux", version: "12", kernel: "6.1.0" },
  cpu: { model: "Test CPU", cores: 2, threads: 4, load_percent: 12.5 },
  memory: { total_bytes: 8_000_000_000, available_bytes: 6_000_000_000, percent_used: 25 },
  disk: { path: "/", total_bytes: 100_000_000_000, free_bytes: 40_000_000_000, percent_used: 60 },
};

/** A host that never changes. */
export const createFakeHostFacts = (): HostFacts => ({ info: () => Promise.resolve(info) });
