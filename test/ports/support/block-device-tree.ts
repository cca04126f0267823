import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A block device as the kernel shows it. */
export interface KernelDevice {
  readonly name: string;
  readonly number: string;
  readonly sectors: number;
  /** The disk or array that it is a partition of. */
  readonly partitionOf?: string;
  /** What it is made of, as `slaves` has it. */
  readonly madeOf?: readonly string[];
  /** Files in its directory, such as `md/level` or `dm/uuid`. */
  readonly files?: Readonly<Record<string, string>>;
  /** What udev has recorded of it, such as `ID_FS_TYPE`. */
  readonly udev?: Readonly<Record<string, string>>;
}

/**
 * Writes devices as sysfs shows them (Documentation/ABI of the kernel), for `lsblk --sysroot`, which takes text files in /dev as the
 * records of udev.
 * @param devices each after what it is part or made of.
 */
export function writeBlockDevices(root: string, devices: readonly KernelDevice[]): void {
  const directories = new Map<string, string>();
  const directoryOf = (name: string): string => {
    const found = directories.get(name);
    if (found === undefined) throw new Error(`${name} comes later or not at all`);
    return found;
  };
  const write = (path: string, text: string): void => {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  };
  const link = (target: string, path: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(relative(dirname(path), target), join(root, path));
  };
  for (const { name, number, sectors, partitionOf, madeOf = [], files = {}, udev = {} } of devices) {
    const directory =
      partitionOf === undefined ? `/sys/devices/virtual/block/${name}` : `${directoryOf(partitionOf)}/${name}`;
    directories.set(name, directory);
    const kind: Readonly<Record<string, string>> =
      partitionOf === undefined
        ? { removable: "0", "queue/rotational": "1" }
        : { partition: /\d+$/.exec(name)?.[0] ?? "1", start: "2048" };
    const all = { dev: number, size: String(sectors), ro: "0", ...kind, ...files };
    for (const [file, text] of Object.entries(all)) write(`${directory}/${file}`, `${text}\n`);
    mkdirSync(join(root, directory, "holders"), { recursive: true });
    for (const each of madeOf) {
      link(directoryOf(each), `${directory}/slaves/${each}`);
      link(directory, `${directoryOf(each)}/holders/${name}`);
    }
    if (partitionOf === undefined) link(directory, `/sys/block/${name}`);
    link(directory, `/sys/dev/block/${number}`);
    const records = Object.entries(udev).map(([key, value]) => `${key}=${value}\n`);
    write(`/dev/${name}`, records.join(""));
    const mapped = files["dm/name"];
    if (mapped !== undefined) link(`/dev/${name}`, `/dev/mapper/${mapped}`);
  }
  write("/proc/self/mountinfo", "");
  write("/proc/swaps", "");
}
