import type { DiskDevice, DiskFileSystem, DiskList, disks } from "#contract/disks.ts";
import type { Handlers } from "#contract/operation.ts";
import type {
  BlockDevice,
  BlockDevices,
  FileSystemSizes,
  MountedVolume,
  MountPoint,
  MountTable,
} from "#domain/ports/disks.ts";
import type { RaidArray, RaidArrays } from "#domain/ports/storage.ts";
import { counted } from "#kernel/text.ts";
import { onHost } from "./service.ts";

export interface DiskPorts {
  readonly devices: BlockDevices;
  readonly mounts: MountTable;
  readonly arrays: RaidArrays;
}

const isReadOnly = ({ options }: MountPoint): boolean => options.split(",").includes("ro");

const percentUsed = (used: number, available: number): number =>
  used + available === 0 ? 0 : Math.round((1000 * used) / (used + available)) / 10;

function toUsage({ totalBytes, freeBytes, availableBytes, totalInodes, freeInodes }: FileSystemSizes) {
  const used = Math.max(0, totalBytes - freeBytes);
  return {
    size_bytes: totalBytes,
    used_bytes: used,
    available_bytes: availableBytes,
    percent_used: percentUsed(used, availableBytes),
    inodes: totalInodes,
    inodes_used: Math.max(0, totalInodes - freeInodes),
  };
}

/** Devices that a volume is on. A file system on several has a number of its own, and the same identifier on each. */
function devicesOf(volume: MountedVolume, devices: readonly BlockDevice[]): readonly BlockDevice[] {
  if (volume.type === "zfs") {
    const [pool] = volume.source.split("/");
    return devices.filter(({ content }) => content?.type === "zfs_member" && content.label === pool);
  }
  const first = devices.find(({ number, path, name }) =>
    [number, path, `/dev/${name}`].some((each) => each === volume.number || each === volume.source),
  );
  const uuid = first?.content?.uuid;
  if (first === undefined || volume.type !== "btrfs" || !uuid) return first === undefined ? [] : [first];
  return devices.filter(({ content }) => content?.type === volume.type && content.uuid === uuid);
}

function toFileSystem(volume: MountedVolume, all: readonly BlockDevice[]): DiskFileSystem {
  const devices = devicesOf(volume, all);
  const content = volume.type === "zfs" ? undefined : devices[0]?.content;
  const { sizes } = volume;
  return {
    type: volume.type,
    source: volume.source,
    label: content?.label ?? null,
    uuid: content?.uuid ?? null,
    devices: devices.map(({ name }) => name),
    pool: volume.type === "zfs" ? (volume.source.split("/")[0] ?? null) : null,
    is_remote: volume.isRemote,
    mounts: volume.mounts.map((point) => ({
      path: point.path,
      root: point.root,
      options: point.options,
      is_read_only: isReadOnly(point),
    })),
    usage: typeof sizes === "string" ? null : toUsage(sizes),
    usage_unknown: typeof sizes === "string" ? sizes : null,
  };
}

function toDevice(device: BlockDevice, array: RaidArray | undefined): DiskDevice {
  return {
    name: device.name,
    path: device.path,
    type: device.type,
    size_bytes: device.sizeBytes,
    parents: [...device.parents],
    is_read_only: device.isReadOnly,
    is_removable: device.isRemovable,
    is_rotational: device.isRotational,
    model: device.model,
    transport: device.transport,
    content: device.content,
    array:
      array === undefined
        ? null
        : {
            level: array.level,
            is_active: array.isActive,
            devices: array.devices,
            working_devices: array.workingDevices,
            rebuild_percent: array.rebuildPercent,
          },
  };
}

const firstPath = ({ mounts }: DiskFileSystem): string => mounts[0]?.path ?? "";
const byPath = (a: DiskFileSystem, b: DiskFileSystem): number => (firstPath(a) < firstPath(b) ? -1 : 1);

const ownViewNote =
  "this service may not see what the host has mounted (its /proc hides the processes of others, or it runs in another root): " +
  "these are the mounts that it has itself, those of its sandbox among them";

export function diskHandlers(ports: DiskPorts): Handlers<typeof disks> {
  const { devices, mounts, arrays } = ports;

  return {
    listDisks: (_, context) =>
      onHost("list disks", async (): Promise<DiskList> => {
        const signal = context.signal();
        const [found, table, raids] = await Promise.all([devices.list(signal), mounts.read(signal), arrays.list()]);
        const raidOf = new Map(raids?.map((array) => [array.name, array]));
        const { leftOut } = table;
        return {
          devices: found.map((device) => toDevice(device, raidOf.get(device.name))),
          file_systems: table.volumes.map((volume) => toFileSystem(volume, found)).toSorted(byPath),
          swaps: table.swaps.map(({ path, type, sizeBytes, usedBytes, priority }) => ({
            ...{ path, type, priority },
            ...{ size_bytes: sizeBytes, used_bytes: usedBytes },
          })),
          notes: [
            ...(table.isOwnView ? [ownViewNote] : []),
            ...(leftOut > 0 ? [`${counted(leftOut, "file system")} more are mounted than are listed`] : []),
          ],
        };
      }),
  };
}
