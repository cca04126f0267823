import { createBlockDevices } from "#adapters/block-devices/index.ts";
import { createDirectorySizes } from "#adapters/directory-sizes/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { createHostSampler } from "#adapters/procfs/host-sampler.ts";
import { createMountTable } from "#adapters/procfs/mount-table.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import { createNameServers } from "#adapters/resolver/index.ts";
import { openRingStore } from "#adapters/ring-store/index.ts";
import { createLinks } from "#adapters/routes/links.ts";
import { createListeners } from "#adapters/systemd/listeners.ts";
import type { PartContext } from "#app/part.ts";
import { pressureIn } from "#domain/health/checks/pressure.ts";
import type { DirectorySizes } from "#domain/ports/disk-usage.ts";
import type { HostSampler, RingStore } from "#domain/ports/host-samples.ts";
import { diskUsageHandlers } from "#domain/system/disk-usage.ts";
import { type DiskPorts, diskHandlers } from "#domain/system/disks.ts";
import { systemMetricHandlers } from "#domain/system/metrics/handlers.ts";
import { createMetricSampler } from "#domain/system/metrics/sampler.ts";
import { type NetworkPorts, networkHandlers } from "#domain/system/network.ts";
import type { HostPart, TracesPart } from "./host.ts";

interface Earlier {
  readonly traces: Pick<TracesPart, "traced">;
  readonly host: Pick<HostPart, "open">;
}

interface ResourceAdapters {
  readonly disks: DiskPorts;
  readonly sizes: DirectorySizes;
  readonly network: NetworkPorts;
  readonly sampler: HostSampler;
  readonly samples: RingStore;
}

const upstreamFile = "/run/systemd/resolve/resolv.conf";

function openResources({ config, clock, log }: PartContext, { traces: { traced }, host }: Earlier): ResourceAdapters {
  return {
    disks: { devices: createBlockDevices(traced), mounts: createMountTable({ clock }), arrays: createRaidArrays() },
    sizes: createDirectorySizes({ look: lookApart, clock }),
    network: {
      links: createLinks(traced),
      listeners: createListeners(traced),
      nameServers: createNameServers(),
      upstream: createNameServers({ file: upstreamFile }),
    },
    sampler: createHostSampler({ host: host.open().facts, pressure: () => pressureIn(createHostFiles()) }),
    samples: openRingStore({
      stateDir: config.stateDir,
      onUnreadable: (error) => log.warn({ err: error }, "metrics of the host unreadable, reset"),
      onUnsaved: (error) => log.warn({ err: error }, "cannot save the metrics of the host"),
    }),
  };
}

/** Disks, network, and how busy they and the processors are. */
export function resourcesPart(context: PartContext, earlier: Earlier, adapters = openResources(context, earlier)) {
  const { clock } = context;
  const { disks, sizes, network, sampler: host, samples: store } = adapters;
  const sampler = createMetricSampler({ clock, host, store });
  return {
    handlers: {
      ...diskHandlers(disks),
      ...diskUsageHandlers({ clock, directories: sizes }),
      ...networkHandlers(network),
      ...systemMetricHandlers({ clock, sampler }),
    },
    start: sampler.start,
    stop: sampler.stop,
    dispose: sampler.save,
  };
}
