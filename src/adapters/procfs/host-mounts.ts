import { accessSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createMountLookup, type Mount, parseMountinfo } from "#adapters/exec/mountinfo.ts";
import { isProcessOutOfReach, orUndefinedSync } from "#kernel/errors.ts";

/** What is mounted on the host. A sandbox may have put other mounts in the place of some. */
export interface HostMounts {
  readonly mounts: readonly Mount[];
  /** Whether these are the mounts of this process, which may not see those of the host. */
  readonly isOwnView: boolean;
  /** A path by which this process reaches the file system that the host has at a path; undefined where its sandbox hides it. */
  readonly pathOf: (path: string) => string | undefined;
}

const readTable = (procDir: string, pid: string): readonly Mount[] | undefined => {
  const text = orUndefinedSync(() => readFileSync(join(procDir, pid, "mountinfo"), "utf8"), isProcessOutOfReach);
  return text === undefined ? undefined : parseMountinfo(text);
};

function isReachable(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Of process 1, proc_pid_mountinfo(5): everybody may read it, and only root may follow its root directory. */
export function readHostMounts(procDir: string): HostMounts {
  const mounts = readTable(procDir, "1") ?? [];
  const rootDir = join(procDir, "1/root");
  if (mounts.length > 0 && isReachable(join(rootDir, "etc")))
    return { mounts, isOwnView: false, pathOf: (path) => join(rootDir, path) };

  const own = parseMountinfo(readFileSync(join(procDir, "self/mountinfo"), "utf8"));
  const [ownAt, hostAt] = [createMountLookup(own), createMountLookup(mounts)];
  const [ownRoot, hostRoot] = [ownAt("/"), hostAt("/")];
  // In another root, as a chroot has, no path means the same.
  if (hostRoot === undefined || ownRoot?.device !== hostRoot.device || ownRoot.root !== hostRoot.root)
    return { mounts: own, isOwnView: true, pathOf: (path) => path };
  const visible = new Map(own.filter((mount) => ownAt(mount.path) === mount).map(({ device, path }) => [device, path]));
  return {
    mounts,
    isOwnView: false,
    pathOf(path) {
      const device = hostAt(path)?.device;
      return ownAt(path)?.device === device ? path : visible.get(device ?? "");
    },
  };
}
