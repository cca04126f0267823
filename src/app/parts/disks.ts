import { createBlockDevices } from "#adapters/block-devices/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createFolderSizes } from "#adapters/folder-sizes/index.ts";
import { createMountTable } from "#adapters/procfs/mount-table.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import { diskUsageHandlers } from "#domain/system/disk-usage.ts";
import { type DiskPorts, diskHandlers } from "#domain/system/disks.ts";
import type { PartContext } from "../part.ts";
import type { TracedParts } from "../tracing/tracing.ts";

export const createDisksPart = (ports: DiskPorts) => ({ handlers: diskHandlers(ports) });

export const buildDisksPart = (
  { clock }: Pick<PartContext, "clock">,
  { traced }: { readonly traced: Pick<TracedParts, "exec"> },
) =>
  createDisksPart({
    devices: createBlockDevices(traced),
    mounts: createMountTable({ clock }),
    arrays: createRaidArrays(),
  });

export const createDiskUsagePart = (ports: Parameters<typeof diskUsageHandlers>[0]) => ({
  handlers: diskUsageHandlers(ports),
});

export const buildDiskUsagePart = ({ clock }: Pick<PartContext, "clock">) =>
  createDiskUsagePart({ clock, folders: createFolderSizes({ look: lookApart, clock }) });
