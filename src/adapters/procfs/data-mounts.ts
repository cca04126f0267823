import { createMountLookup, type Mount } from "#adapters/exec/mountinfo.ts";

const imageTypes = new Set(["squashfs", "iso9660", "erofs", "cramfs", "romfs", "udf"]);
const typesWithoutDevice = new Set(["tmpfs", "zfs", "ubifs", "jffs2"]);
/** Kinds whose answers come from elsewhere, or from a program: such a one may never answer. `fuseblk` is a disk here: NTFS, exFAT. */
export const isRemote = (type: string): boolean =>
  /^(fuse(?!blk$)|nfs|cifs|smb|9p$|ceph$|virtiofs$|afs$|ocfs2$|gfs2$|lustre$)/.test(type);
/** Parts of memory that hold devices, one session's things or secrets, each its own little file system. */
export const isOwnOfSystem = (path: string): boolean =>
  path !== "/dev/shm" && /^\/(proc|sys|dev|run\/(user|credentials|host))(\/|$)/.test(path);

function holdsData({ type, source, path, options }: Mount): boolean {
  if (imageTypes.has(type)) return false;
  // Without an answer from the root nothing runs here, no matter who gives it.
  if (path === "/") return true;
  if (isRemote(type)) return false;
  // That of a container or a live system; elsewhere the file system below has the same space and is counted already.
  if (type === "overlay") return false;
  if (type === "tmpfs" && (isOwnOfSystem(path) || options.includes("ro"))) return false;
  return source.startsWith("/dev/") || typesWithoutDevice.has(type);
}

const isBind = ({ type, root, superOptions }: Mount): boolean =>
  root !== "/" && !(type === "btrfs" && superOptions.includes(`subvol=${root}`));

/** What a file system says of itself when nothing can be written. Newer kernels stop an ext4 with errors without saying `ro`. */
const readOnlyOptions = ["ro", "emergency_ro", "shutdown"];

export interface DataMount {
  readonly path: string;
  readonly number: string;
  readonly source: string;
  readonly type: string;
  readonly isReadOnly: boolean;
  readonly isMeantReadOnly: boolean;
}

const isData = (mounts: readonly Mount[]) => {
  const mountAt = createMountLookup(mounts);
  return (mount: Mount): boolean => holdsData(mount) && mountAt(mount.path) === mount;
};

const rank = (mount: Mount): number => (mount.path === "/" ? 0 : isBind(mount) ? 2 : 1);
/** The root first, then whole file systems, then directories of one; the shortest path before others. */
const byRank = (a: Mount, b: Mount): number =>
  rank(a) - rank(b) || a.path.length - b.path.length || (a.path < b.path ? -1 : 1);

/** File systems that are mounted nowhere as a whole. Container runtimes bind single files, which do not count. */
export function boundPaths(mounts: readonly Mount[]): readonly string[] {
  const perDevice = Map.groupBy(mounts.filter(isData(mounts)), ({ device }) => device);
  return [...perDevice.values()]
    .filter((same) => same.every((mount) => rank(mount) === 2))
    .flat()
    .map(({ path }) => path);
}

export function dataMountHolding(mounts: readonly Mount[], path: string): string | undefined {
  const device = createMountLookup(mounts)(path)?.device;
  const same = mounts.filter((mount) => mount.device === device);
  return same.filter(isData(mounts)).toSorted(byRank)[0]?.path;
}

/** Of each device `/`, else the shortest whole mount, else a bind mount. @param files bound paths that are no directories. */
export function chooseDataMounts(
  mounts: readonly Mount[],
  readOnlyPaths: ReadonlySet<string>,
  files: ReadonlySet<string> = new Set(),
): readonly DataMount[] {
  const chosen = mounts.filter(isData(mounts)).filter(({ path }) => !files.has(path));
  return [...Map.groupBy(chosen, ({ device }) => device).values()].flatMap((same) => {
    const [first] = same.toSorted(byRank);
    if (first === undefined) return [];
    const { path, device: number, source, type, superOptions } = first;
    // Anyone who mounts something read-only makes the mount so, as a rule the file system with it; trouble with the disk makes the file system
    // so alone, and its mounts still say "rw".
    const isFileSystemReadOnly = readOnlyOptions.some((each) => superOptions.includes(each));
    const isMountReadOnly = same.every(({ options }) => options.includes("ro"));
    const isStopped = superOptions.includes("emergency_ro") || superOptions.includes("shutdown");
    const isReadOnly = isFileSystemReadOnly || isMountReadOnly;
    const isMeantReadOnly = (isMountReadOnly && !isStopped) || readOnlyPaths.has(path);
    return { path, number, source, type, isReadOnly, isMeantReadOnly };
  });
}
