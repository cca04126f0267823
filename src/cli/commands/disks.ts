import type { Answer } from "#client/index.ts";
import { formatBytes } from "#kernel/text.ts";
import { showCommand } from "../core/operation-command.ts";
import { type Io, oneLine } from "../output/output.ts";
import type { Cell, Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";

type DiskList = Answer<"listDisks">;
type Device = DiskList["devices"][number];
type FileSystem = DiskList["file_systems"][number];

/** A device below the one that it is part of; a file system on none stands by itself. */
interface Line {
  readonly name: string;
  readonly indent: string;
  readonly device?: Device;
  readonly fileSystem?: FileSystem;
}

/** No tree of a host is as deep. */
const deepest = 16;
const warnPercent = 80;
const failPercent = 95;

function fullStyle(percent: number): Style | undefined {
  if (percent >= failPercent) return "red";
  return percent >= warnPercent ? "yellow" : undefined;
}

/** What stands on several devices is shown below each of them, as lsblk does, and its mounts once. */
function diskLines({ devices, file_systems: fileSystems }: DiskList): readonly Line[] {
  const shown = new Set<FileSystem>();
  const lines: Line[] = [];
  const add = (parent: string | undefined, indent: string, depth: number): void => {
    const below = devices.filter(({ parents }) =>
      parent === undefined ? parents.length === 0 : parents.includes(parent),
    );
    for (const [at, device] of below.entries()) {
      const isLast = at === below.length - 1;
      const branch = parent === undefined ? "" : `${indent}${isLast ? "└─" : "├─"}`;
      const on = fileSystems.filter((each) => each.devices.includes(device.name) && !shown.has(each));
      const [first, ...others] = on;
      for (const each of on) shown.add(each);
      const inner = parent === undefined ? "" : `${indent}${isLast ? "  " : "│ "}`;
      lines.push({ name: shortName(device), indent: branch, device, ...(first && { fileSystem: first }) });
      for (const fileSystem of others) lines.push({ name: "", indent: inner, fileSystem });
      if (depth < deepest) add(device.name, inner, depth + 1);
    }
  };
  add(undefined, "", 0);
  const rest = fileSystems.filter((each) => !shown.has(each));
  return [...lines, ...rest.map((fileSystem) => ({ name: fileSystem.source, indent: "", fileSystem }))];
}

/** `vg-root` says more than `dm-0`. */
const shortName = ({ name, path }: Device): string =>
  name.startsWith("dm-") ? (path.split("/").at(-1) ?? name) : name;

function typeOf({ device }: Line): Cell {
  if (device === undefined) return "";
  const { array } = device;
  if (array === null) return device.type;
  const isWhole = array.is_active && array.working_devices >= array.devices;
  return { text: `${device.type} ${array.working_devices}/${array.devices}`, style: isWhole ? undefined : "red" };
}

const mostPaths = 3;

function mountsOf({ fileSystem, device }: Line, swaps: DiskList["swaps"]): string {
  if (fileSystem === undefined)
    return device !== undefined && swaps.some(({ path }) => path === device.path) ? "[swap]" : "";
  const paths = fileSystem.mounts.map(({ path, is_read_only: isReadOnly }) => (isReadOnly ? `${path} (ro)` : path));
  const more = paths.length - mostPaths;
  return paths.slice(0, mostPaths).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

const usageOf = ({ fileSystem }: Line, bytes: "used_bytes" | "available_bytes"): Cell =>
  fileSystem?.usage ? formatBytes(fileSystem.usage[bytes]) : "";

function percentOf(percent: number): Cell {
  return { text: `${Math.round(percent)} %`, style: fullStyle(percent) };
}

function inodesOf({ fileSystem }: Line): Cell {
  const usage = fileSystem?.usage;
  return usage && usage.inodes > 0 ? percentOf((100 * usage.inodes_used) / usage.inodes) : "";
}

function printDisks(io: Io, list: DiskList): void {
  printTable(io, diskLines(list), {
    device: ({ name, indent }) => ({ text: name, indent }),
    type: typeOf,
    size: ({ device, fileSystem }) => {
      const bytes = device?.size_bytes ?? fileSystem?.usage?.size_bytes;
      return bytes === undefined ? "" : formatBytes(bytes);
    },
    used: (line) => usageOf(line, "used_bytes"),
    free: (line) => usageOf(line, "available_bytes"),
    full: ({ fileSystem }) => (fileSystem?.usage ? percentOf(fileSystem.usage.percent_used) : ""),
    "mounted at": (line) => mountsOf(line, list.swaps),
    "file system": ({ device, fileSystem }) => fileSystem?.type ?? device?.content?.type ?? "",
    inodes: inodesOf,
    label: ({ device, fileSystem }) => fileSystem?.label ?? device?.content?.label ?? "",
  });
  for (const { mounts, usage_unknown: reason } of list.file_systems)
    if (reason !== null)
      io.err(`steward: ${oneLine(`not shown: usage of ${mounts[0]?.path ?? "a file system"}: ${reason}`)}\n`);
  for (const note of list.notes) io.err(`steward: ${oneLine(note)}\n`);
}

export const addDisksCommand = showCommand("listDisks", "disks", {
  about: "disks, what is made of them, the file systems on them, and how full these are",
  print: printDisks,
});
