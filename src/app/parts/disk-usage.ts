import { lookApart } from "#adapters/exec/look.ts";
import { createFolderSizes } from "#adapters/folder-sizes/index.ts";
import { diskUsageHandlers } from "#domain/system/disk-usage.ts";
import type { PartContext } from "../part.ts";

export const createDiskUsagePart = (ports: Parameters<typeof diskUsageHandlers>[0]) => ({
  handlers: diskUsageHandlers(ports),
});

export const buildDiskUsagePart = ({ clock }: Pick<PartContext, "clock">) =>
  createDiskUsagePart({ clock, folders: createFolderSizes({ look: lookApart, clock }) });
