import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { NullableString } from "./schema.ts";

const NullableBoolean = (description: string) =>
  Type.Unsafe<boolean | null>({ type: ["boolean", "null"], description });

const DeviceContent = Type.Object({
  type: Type.String({ description: "Type of a file system, `swap`, or what it is part of, such as `LVM2_member`." }),
  label: NullableString("Label, or the name of the array or pool; null for none."),
  uuid: NullableString("Null for none."),
});

const DeviceArray = Type.Object({
  level: Type.String({ description: "Such as `raid1`; empty for an array that does not run." }),
  is_active: Type.Boolean(),
  devices: Type.Integer({ description: "Places of the array." }),
  working_devices: Type.Integer({ description: "Fewer than `devices`: it is degraded." }),
  rebuild_percent: Type.Unsafe<number | null>({
    type: ["number", "null"],
    description: "Of a recovery, resync or reshape in progress; else null.",
  }),
});

export const DiskDevice = Type.Object({
  name: Type.String({
    description: "Name that the kernel gives it; others name it by that in `parents` and `devices`.",
  }),
  path: Type.String({ description: "Usual path, such as `/dev/sda1` or `/dev/mapper/vg-root`." }),
  type: Type.String({ description: "`disk`, `part`, `lvm`, `crypt`, `raid1`, `loop`, `rom`, …, as lsblk has it." }),
  size_bytes: Type.Integer(),
  parents: Type.Array(Type.String(), {
    description:
      "Devices that it is part of or made of, of which an array or a logical volume may have several; empty for a whole disk.",
  }),
  is_read_only: Type.Boolean({ description: "Whether the kernel refuses to write to it." }),
  is_removable: Type.Boolean({ description: "Whether the kernel takes it for one that can be taken out." }),
  is_rotational: NullableBoolean("Whether the kernel takes it for a disk that turns; null where it is not known."),
  model: NullableString("Null where it is not known."),
  transport: NullableString("`sata`, `nvme`, `usb`, …; null where it is not known."),
  content: Type.Union([DeviceContent, Type.Null()], {
    description:
      "What is on it by the records of udev; null for nothing, or where these are missing, as in most containers.",
  }),
  array: Type.Union([DeviceArray, Type.Null()], { description: "State of a software RAID array; else null." }),
});
export type DiskDevice = Static<typeof DiskDevice>;

const FileSystemUsage = Type.Object({
  size_bytes: Type.Integer(),
  used_bytes: Type.Integer(),
  available_bytes: Type.Integer({ description: "Free for unprivileged users." }),
  percent_used: Type.Number({ description: "Used of used and available together, as `df` counts." }),
  inodes: Type.Integer({ description: "0 without a fixed number of inodes." }),
  inodes_used: Type.Integer(),
});

const FileSystemMount = Type.Object({
  path: Type.String(),
  root: NullableString("Directory or subvolume that is mounted there; null for the whole file system."),
  options: Type.String({ description: "Of the mount and of the file system." }),
  is_read_only: Type.Boolean(),
});

export const DiskFileSystem = Type.Object({
  type: Type.String(),
  source: Type.String({ description: "Device, data set, or server and its export." }),
  label: NullableString("Null for none, or where it is not known."),
  uuid: NullableString("Null for none, or where it is not known."),
  devices: Type.Array(Type.String(), {
    description: "Names of the devices that it is on; empty where it is on none, or on none of this host.",
  }),
  pool: NullableString("Pool of a ZFS data set; else null."),
  is_remote: Type.Boolean({ description: "Whether a server or a program answers for it." }),
  mounts: Type.Array(FileSystemMount),
  usage: Type.Union([FileSystemUsage, Type.Null()], { description: "Null where `usage_unknown` says why." }),
  usage_unknown: NullableString("Why there is no usage; else null."),
});
export type DiskFileSystem = Static<typeof DiskFileSystem>;

export const DiskList = Type.Object({
  devices: Type.Array(DiskDevice, { description: "Each once, parents before what is made of them." }),
  file_systems: Type.Array(DiskFileSystem, { description: "Those that are mounted, by their first path." }),
  swaps: Type.Array(
    Type.Object({
      path: Type.String({ description: "Device or file." }),
      type: Type.String({ description: "`partition` or `file`." }),
      size_bytes: Type.Integer(),
      used_bytes: Type.Integer(),
      priority: Type.Integer({ description: "The highest is used first." }),
    }),
  ),
  notes: Type.Array(Type.String(), { description: "What cannot be seen, and why." }),
});
export type DiskList = Static<typeof DiskList>;

export const disks = {
  listDisks: {
    method: "GET",
    path: "/system/disks",
    tag: "System",
    summary: "Disks, file systems and mounts of the host",
    description:
      "Devices from disks up to what is made of their partitions (LVM, RAID, encryption), the file systems on them, where these are mounted, and how full they are. Without the file systems of the kernel itself and of containers. A remote file system is listed but not asked how full it is: it would wait for a server that does not answer. A disk that hangs makes its own usage unknown after 5 s.",
    scope: "system:read",
    effect: "read",
    response: DiskList,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
