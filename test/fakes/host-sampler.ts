import type { HostSample, HostSampler } from "#domain/ports/host-samples.ts";
import type { Clock } from "#kernel/clock.ts";

export interface FakeHostSampler extends HostSampler {
  /** What it says in the place of its own from now on. */
  says: Partial<HostSample>;
}

/** A host with a processor that is half busy and a disk that reads 1000 bytes a second. */
export function createFakeHostSampler(clock: Pick<Clock, "monotonicMs">): FakeHostSampler {
  const sampler: FakeHostSampler = {
    says: {},
    sample() {
      const ms = clock.monotonicMs();
      return Promise.resolve({
        load: { oneMinute: 0.5, fifteenMinutes: 0.25 },
        cpu: { total: ms, busy: ms / 2, ioWait: ms / 10 },
        memory: { totalBytes: 8000, availableBytes: 6000, swapTotalBytes: 1000, swapFreeBytes: 900 },
        disks: new Map([["sda", [ms, 2 * ms]]]),
        links: new Map([["eth0", [3 * ms, 4 * ms]]]),
        pressure: { cpu: 1, memory: 0, io: 2.5 },
        absences: [],
        ...sampler.says,
      });
    },
  };
  return sampler;
}
