import { createBlockDevices } from "#adapters/block-devices/index.ts";
import { createMountTable } from "#adapters/procfs/mount-table.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
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
