import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { NullableString } from "./schema.ts";

const NullableBoolean = (description: string) =>
  Type.Unsafe<boolean | null>({ type: ["boolean", "null"], description });

const DeviceContent = Type.Object({
  type: Type.String({ description: "Type of the file system, `swap`, or a member type such as `LVM2_member`." }),
  label: NullableString("Label, or name of the array or pool; null if there is none."),
  uuid: NullableString("Null if there is none."),
});

const DeviceArray = Type.Object({
  level: Type.String({ description: "RAID level, such as `raid1`; empty for an inactive array." }),
  is_active: Type.Boolean(),
  devices: Type.Integer({ description: "Number of device slots of the array." }),
  working_devices: Type.Integer({ description: "Number of working devices; fewer than `devices` means degraded." }),
  rebuild_percent: Type.Unsafe<number | null>({
    type: ["number", "null"],
    description: "Progress of a recovery, resync or reshape; null if none is running.",
  }),
});

export const DiskDevice = Type.Object({
  name: Type.String({
    description: "Kernel name; `parents` and `devices` refer to it.",
  }),
  path: Type.String({ description: "Usual path, such as `/dev/sda1` or `/dev/mapper/vg-root`." }),
  type: Type.String({
    description: "Type as lsblk shows it: `disk`, `part`, `lvm`, `crypt`, `raid1`, `loop`, `rom`, ….",
  }),
  size_bytes: Type.Integer(),
  parents: Type.Array(Type.String(), {
    description:
      "Devices that it is part of or consists of; an array or a logical volume may have several. Empty for a whole disk.",
  }),
  is_read_only: Type.Boolean({ description: "Whether the device is read-only." }),
  is_removable: Type.Boolean({ description: "Whether the kernel reports the device as removable." }),
  is_rotational: NullableBoolean("Whether the kernel reports a rotating disk; null if that is unknown."),
  model: NullableString("Null if it is unknown."),
  transport: NullableString("`sata`, `nvme`, `usb`, …; null if it is unknown."),
  content: Type.Union([DeviceContent, Type.Null()], {
    description:
      "Content of the device according to udev; null if there is none, or if udev has no records, as in most containers.",
  }),
  array: Type.Union([DeviceArray, Type.Null()], {
    description: "State of the array, if it is a software RAID; else null.",
  }),
});
export type DiskDevice = Static<typeof DiskDevice>;

const FileSystemUsage = Type.Object({
  size_bytes: Type.Integer(),
  used_bytes: Type.Integer(),
  available_bytes: Type.Integer({ description: "Bytes that unprivileged users can use." }),
  percent_used: Type.Number({ description: "Used as a share of used and available, as `df` counts it." }),
  inodes: Type.Integer({ description: "Number of inodes; 0 if the file system has no fixed number." }),
  inodes_used: Type.Integer(),
});

const FileSystemMount = Type.Object({
  path: Type.String(),
  root: NullableString("Directory or subvolume of the file system that is mounted; null for the whole file system."),
  options: Type.String({ description: "Options of the mount and of the file system." }),
  is_read_only: Type.Boolean(),
});

export const DiskFileSystem = Type.Object({
  type: Type.String(),
  source: Type.String({ description: "Device, data set, or server and its export." }),
  label: NullableString("Null if there is none or it is unknown."),
  uuid: NullableString("Null if there is none or it is unknown."),
  devices: Type.Array(Type.String(), {
    description: "Names of the devices that hold it; empty if there are none on this host.",
  }),
  pool: NullableString("ZFS pool, for a ZFS data set; else null."),
  is_remote: Type.Boolean({ description: "Whether it is served by another host or by a program." }),
  mounts: Type.Array(FileSystemMount),
  usage: Type.Union([FileSystemUsage, Type.Null()], {
    description: "Null if it is unknown; `usage_unknown` then gives the reason.",
  }),
  usage_unknown: NullableString("Why the usage is unknown; else null."),
});
export type DiskFileSystem = Static<typeof DiskFileSystem>;

export const DiskList = Type.Object({
  devices: Type.Array(DiskDevice, { description: "Each device once, parents first." }),
  file_systems: Type.Array(DiskFileSystem, { description: "Mounted file systems, ordered by their first path." }),
  swaps: Type.Array(
    Type.Object({
      path: Type.String({ description: "Device or file." }),
      type: Type.String({ description: "`partition` or `file`." }),
      size_bytes: Type.Integer(),
      used_bytes: Type.Integer(),
      priority: Type.Integer({ description: "Priority; the swap with the highest is used first." }),
    }),
  ),
  notes: Type.Array(Type.String(), { description: "What is missing from the answer, and why." }),
});
export type DiskList = Static<typeof DiskList>;

export const disks = {
  listDisks: {
    method: "GET",
    path: "/system/disks",
    tag: "System",
    summary: "Disks, file systems and mounts of the host",
    description:
      "Disks, partitions and the devices built on them (LVM, RAID, encryption), the file systems on them, their mounts and their usage. File systems of the kernel itself and of containers are left out. A remote file system is listed without its usage, because the call would block if the server does not answer. The usage of a disk that hangs is unknown after 5 s.",
    scope: "system:read",
    effect: "read",
    response: DiskList,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
