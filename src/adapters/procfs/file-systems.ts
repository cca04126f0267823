import { readFileSync } from "node:fs";
import { parseReadOnlyPaths } from "#adapters/exec/mountinfo.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { type FileSystems, FileSystemsUnseen, type MountedFileSystem } from "#domain/ports/storage.ts";
import { withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, isNotFound, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { boundPaths, chooseDataMounts, type DataMount, dataMountHolding } from "./data-mounts.ts";
import { type HostMounts, readHostMounts } from "./host-mounts.ts";
import { answerTimeoutMs, askIsFile, askIsShutDown, askRealPath, askSizes, NoAnswer } from "./sizes.ts";

const fstab = "/etc/fstab";

/** A remote file system without its server never answers, so these are left out; what hangs holds one process. */
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
  ): Promise<readonly MountedFileSystem[]> => {
    const { path, number, source, type, isMeantReadOnly } = mount;
    const here = pathOf(path);
    if (here === undefined) return unseen(path);
    const ask = async () => {
      const sizes = await askSizes(here);
      const isReadOnly = mount.isReadOnly || (type === "xfs" && (await askIsShutDown(here)));
      return { isReadOnly, ...sizes };
    };
    const late = (): undefined => {
      signal.throwIfAborted();
      // A program answers for it, and may have ended without unmounting it.
      if (type === "fuseblk") return undefined;
      throw new Error(`cannot look at ${path}: its disk did not answer in ${answerTimeoutMs / 1000} s`);
    };
    try {
      const found = await withinTime<Awaited<ReturnType<typeof ask>> | undefined>(
        clock,
        answerTimeoutMs,
        signal,
        ask,
        late,
      );
      if (found === undefined) return [];
      return [{ path, number, device: source, type, isMeantReadOnly, ...found }];
    } catch (error) {
      if (error instanceof NoAnswer) return late() ?? [];
      // Below a folder that is closed to this process.
      if (isPermissionDenied(error)) return unseen(path);
      const code = errnoCode(error);
      // Unmounted since the list was read.
      if (code === "ENOENT") return [];
      throw code === undefined ? error : new Error(`cannot look at ${path}: ${code}`, { cause: error });
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
        if (!(error instanceof NoAnswer)) throw error;
        throw new HostUnavailable(`${path} gives no answer`, { missing: path, retryable: true }, error);
      });
      return real && dataMountHolding(mounts, real);
    },
  };
}
