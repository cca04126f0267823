import { accessSync, readFileSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileSystems, MountedFileSystem } from "#domain/ports/storage.ts";
import { withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, orUndefined, orUndefinedSync } from "#kernel/errors.ts";
import { boundPaths, chooseDataMounts, type DataMount, dataMountHolding } from "./data-mounts.ts";
import { parseMountinfo, parseReadOnlyPaths } from "./mountinfo.ts";
import { answerTimeoutMs, askSizes, isShutDown, shared } from "./sizes.ts";

/** As the host sees them: the sandbox of the unit has others. Without rights, those of this process. */
export function readMounts(procDir: string): { text: string; rootDir: string; isOwnView: boolean } {
  const rootDir = join(procDir, "1/root");
  try {
    accessSync(join(rootDir, "etc"));
    return { text: readFileSync(join(procDir, "1/mountinfo"), "utf8"), rootDir, isOwnView: false };
  } catch {
    return { text: readFileSync(join(procDir, "self/mountinfo"), "utf8"), rootDir: "/", isOwnView: true };
  }
}

/** A remote file system without its server never answers, so these are left out; a hung disk holds one thread. */
export function createFileSystems(ports: { clock: Pick<Clock, "sleep">; procDir?: string }): FileSystems {
  const { clock, procDir = "/proc" } = ports;
  const askIsShutDown = shared(isShutDown);
  const askIsFile = shared(async (path) => !(await stat(path)).isDirectory());

  const filesAmong = async (paths: readonly string[], rootDir: string, signal: AbortSignal): Promise<Set<string>> => {
    const ask = (path: string) => () => askIsFile(join(rootDir, path)).catch(() => false);
    const isFile = await Promise.all(
      paths.map((path) => withinTime(clock, answerTimeoutMs, signal, ask(path), () => false)),
    );
    return new Set(paths.filter((_, at) => isFile[at]));
  };

  const read = async (mount: DataMount, rootDir: string, signal: AbortSignal): Promise<MountedFileSystem[]> => {
    const { path, source, type, isMeantReadOnly } = mount;
    const ask = async () => {
      const sizes = await askSizes(join(rootDir, path));
      const isReadOnly = mount.isReadOnly || (type === "xfs" && (await askIsShutDown(join(rootDir, path))));
      return { isReadOnly, ...sizes };
    };
    const late = (): never => {
      signal.throwIfAborted();
      throw new Error(`cannot look at ${path}: its disk did not answer in ${answerTimeoutMs / 1000} s`);
    };
    try {
      const found = await withinTime(clock, answerTimeoutMs, signal, ask, late);
      return [{ path, device: source, type, isMeantReadOnly, ...found }];
    } catch (error) {
      // Unmounted since the list was read, or below a folder that is closed to the service.
      const code = errnoCode(error);
      if (code === "ENOENT" || code === "EACCES") return [];
      throw code === undefined ? error : new Error(`cannot look at ${path}: ${code}`, { cause: error });
    }
  };

  return {
    async list(signal) {
      signal.throwIfAborted();
      const { text, rootDir } = readMounts(procDir);
      const mounts = parseMountinfo(text);
      const readOnlyPaths = parseReadOnlyPaths(
        orUndefinedSync(() => readFileSync(join(rootDir, "etc/fstab"), "utf8")) ?? "",
      );
      const bound = boundPaths(mounts);
      const files = bound.length === 0 ? new Set<string>() : await filesAmong(bound, rootDir, signal);
      const chosen = chooseDataMounts(mounts, readOnlyPaths, files);
      const found = await Promise.all(chosen.map((mount) => read(mount, rootDir, signal)));
      return found.flat();
    },
    async holding(path) {
      const mounts = parseMountinfo(readMounts(procDir).text);
      const real = await orUndefined(realpath(path));
      return real && dataMountHolding(mounts, real);
    },
  };
}
