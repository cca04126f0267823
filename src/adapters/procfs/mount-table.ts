import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createMountLookup, decodeEscapes, type Mount } from "#adapters/exec/mountinfo.ts";
import type { MountedVolume, MountTable, Swap } from "#domain/ports/disks.ts";
import { withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { isOwnOfSystem, isRemote } from "./data-mounts.ts";
import { readHostMounts } from "./host-mounts.ts";
import { answerTimeoutMs, askSizes, NoAnswer } from "./sizes.ts";

/** File systems through which the kernel and programs talk, which hold nothing. */
const withoutData = new Set([
  ...["proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "debugfs", "tracefs", "securityfs"],
  ...["pstore", "bpf", "configfs", "fusectl", "hugetlbfs", "binfmt_misc", "autofs", "rpc_pipefs", "efivarfs", "nsfs"],
  ...["selinuxfs", "ramfs", "nfsd", "fuse.portal", "fuse.lxcfs"],
]);

/** Beyond this they are left out: a host has some, one with a fault in its automounter has many. */
const mostVolumes = 1_000;

/** Those of containers are as full as the file system below them. */
const isShown = ({ type, path }: Mount): boolean =>
  path === "/" ||
  (!withoutData.has(type) &&
    type !== "overlay" &&
    !(type === "tmpfs" && isOwnOfSystem(path)) &&
    !isOwnOfContainer(path));

/** What container engines mount for each container. */
const isOwnOfContainer = (path: string): boolean =>
  /^\/(var\/lib\/(docker|containers|kubelet|lxcfs|containerd)|run\/(containerd|containers|netns|docker))\/.+/.test(
    path,
  );

/** As findmnt has them: one that is read-only in either place is. */
function optionsOf({ options, superOptions }: Mount): string {
  const all = new Set([...options, ...superOptions]);
  const access = all.has("ro") ? "ro" : "rw";
  return [access, ...[...all].filter((each) => each !== "ro" && each !== "rw" && each !== "")].join(",");
}

/** /proc/swaps, proc(5): sizes in KiB. */
export function parseSwaps(text: string): readonly Swap[] {
  return text
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [path = "", type = "", size, used, priority] = line.trim().split(/\s+/);
      const numbers = [size, used, priority].map(Number);
      const [sizeKib = 0, usedKib = 0, rank = 0] = numbers;
      if (path === "" || priority === undefined || !numbers.every(Number.isSafeInteger)) return [];
      return [
        { path: decodeEscapes(path), type, sizeBytes: sizeKib * 1024, usedBytes: usedKib * 1024, priority: rank },
      ];
    });
}

/** Mounts by their file system, which is a device number, a type and a source: a pool of ZFS has one number for each data set. */
function volumesOf(mounts: readonly Mount[]): readonly (readonly Mount[])[] {
  const key = ({ device, type }: Mount): string => `${device} ${type}`;
  return [...Map.groupBy(mounts.filter(isShown), key).values()];
}

const late = (): string => `it did not answer in ${answerTimeoutMs / 1000} s`;

/** What this process can see of the mounts of the host. It asks no file system that may never answer. */
export function createMountTable(ports: {
  readonly clock: Pick<Clock, "sleep">;
  readonly procDir?: string;
}): MountTable {
  const { clock, procDir = "/proc" } = ports;

  const sizesOf = async (path: string, signal: AbortSignal): Promise<MountedVolume["sizes"]> => {
    try {
      return await withinTime<MountedVolume["sizes"]>(clock, answerTimeoutMs, signal, () => askSizes(path), late);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoAnswer) return late();
      const code = errnoCode(error);
      if (code === undefined) throw error;
      if (isPermissionDenied(error)) return "it is below a directory that is closed to this service";
      return `the kernel says ${code}`;
    }
  };

  return {
    async read(signal) {
      signal.throwIfAborted();
      const { mounts, isOwnView, pathOf } = readHostMounts(procDir);
      const mountAt = createMountLookup(mounts);
      const all = volumesOf(mounts);
      const volumes = await Promise.all(
        all.slice(0, mostVolumes).map(async (same): Promise<MountedVolume | undefined> => {
          const [first] = same;
          if (first === undefined) return undefined;
          const { device: number, type, source } = first;
          const visible = same.find((mount) => mountAt(mount.path) === mount);
          const isFar = isRemote(type);
          const ask = async (): Promise<MountedVolume["sizes"]> => {
            // Without an answer from the root nothing runs here, no matter who gives it.
            if (isFar && !same.some(({ path }) => path === "/")) return "it is not asked: its server may not answer";
            if (visible === undefined) return "another file system is mounted over it";
            const here = pathOf(visible.path);
            return here === undefined ? "the sandbox of this service has something else there" : sizesOf(here, signal);
          };
          const points = same.map((mount) => ({
            path: mount.path,
            root: mount.root === "/" ? null : mount.root,
            options: optionsOf(mount),
          }));
          return { number, source, type, isRemote: isFar, mounts: points, sizes: await ask() };
        }),
      );
      const swaps = parseSwaps((await orUndefined(readFile(join(procDir, "swaps"), "utf8"))) ?? "");
      return {
        volumes: volumes.filter((volume) => volume !== undefined),
        swaps,
        isOwnView,
        leftOut: Math.max(0, all.length - mostVolumes),
      };
    },
  };
}
