import { readFileSync } from "node:fs";
import { parseReadOnlyPaths } from "#adapters/exec/mountinfo.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import {
  type FileSystems,
  FileSystemsUnseen,
  type MountedFileSystem,
  type UnreadableFileSystem,
} from "#domain/ports/storage.ts";
import { withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, errorMessage, isNotFound, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { boundPaths, chooseDataMounts, type DataMount, dataMountHolding } from "./data-mounts.ts";
import { type HostMounts, readHostMounts } from "./host-mounts.ts";
import { answerTimeoutMs, askIsFile, askIsShutDown, askRealPath, askSizes, NoAnswer } from "./sizes.ts";

const fstab = "/etc/fstab";

/** A remote file system without its server never answers, so these are left out; what hangs holds two processes at most. */
export function createFileSystems(ports: {
  readonly clock: Pick<Clock, "sleep">;
  readonly procDir?: string;
  /** Whether it is an error that this process cannot look at one; otherwise it is left out. */
  readonly isWhole?: boolean;
}): FileSystems {
  const { clock, procDir = "/proc", isWhole = false } = ports;

  const filesAmong = async (
    paths: readonly string[],
    { pathOf }: HostMounts,
    signal: AbortSignal,
  ): Promise<Set<string>> => {
    const ask = (path: string) => async () => {
      const here = pathOf(path);
      return here !== undefined && (await askIsFile(here).catch(() => false));
    };
    const isFile = await Promise.all(
      paths.map((path) => withinTime(clock, answerTimeoutMs, signal, ask(path), () => false)),
    );
    return new Set(paths.filter((_, at) => isFile[at]));
  };

  const unseen = (path: string): readonly [] => {
    if (isWhole) throw new FileSystemsUnseen(`this process cannot look at ${path} as the host has it`);
    return [];
  };

  const readOnlyPaths = ({ pathOf }: HostMounts): ReadonlySet<string> => {
    const path = pathOf(fstab);
    if (path === undefined) return new Set(unseen(fstab));
    try {
      return parseReadOnlyPaths(readFileSync(path, "utf8"));
    } catch (error) {
      if (isNotFound(error)) return new Set();
      return new Set(unseen(fstab));
    }
  };

  const read = async (
    mount: DataMount,
    { pathOf }: HostMounts,
    signal: AbortSignal,
  ): Promise<readonly (MountedFileSystem | UnreadableFileSystem)[]> => {
    const { source: device, ...known } = mount;
    const here = pathOf(mount.path);
    if (here === undefined) return unseen(mount.path);
    const unreadable = (reason: string): UnreadableFileSystem => ({ ...known, device, unreadable: reason });
    const ask = async (): Promise<MountedFileSystem> => {
      const sizes = await askSizes(here);
      const isReadOnly = mount.isReadOnly || (mount.type === "xfs" && (await askIsShutDown(here)));
      return { ...known, device, isReadOnly, ...sizes };
    };
    const late = (): UnreadableFileSystem => {
      signal.throwIfAborted();
      return unreadable(`no answer in ${answerTimeoutMs / 1000} s`);
    };
    try {
      return [await withinTime<MountedFileSystem | UnreadableFileSystem>(clock, answerTimeoutMs, signal, ask, late)];
    } catch (error) {
      if (error instanceof NoAnswer) return [late()];
      // Below a directory that is closed to this process.
      if (isPermissionDenied(error)) return unseen(mount.path);
      const code = errnoCode(error);
      if (code === undefined) throw error;
      // Unmounted since the list was read.
      return code === "ENOENT" ? [] : [unreadable(code)];
    }
  };

  return {
    async list(signal) {
      signal.throwIfAborted();
      const host = readHostMounts(procDir);
      if (host.isOwnView) unseen("/");
      const bound = boundPaths(host.mounts);
      const files = bound.length === 0 ? new Set<string>() : await filesAmong(bound, host, signal);
      const chosen = chooseDataMounts(host.mounts, readOnlyPaths(host), files);
      const found = await Promise.all(chosen.map((mount) => read(mount, host, signal)));
      return found.flat();
    },
    async holding(path) {
      const { mounts } = readHostMounts(procDir);
      const real = await orUndefined(askRealPath(path)).catch((error: unknown) => {
        if (!(error instanceof NoAnswer) && errnoCode(error) === undefined) throw error;
        throw new HostUnavailable(errorMessage(error), { missing: path, retryable: true }, error);
      });
      return real && dataMountHolding(mounts, real);
    },
  };
}
