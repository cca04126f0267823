import { readdir, readFile, readlink } from "node:fs/promises";
import { isOwnTask } from "#domain/system/service-policy.ts";
import { isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";

const atOnce = 16;

/** Whether a process runs code of packages that has been replaced or removed since it was loaded, by its `/proc/…/maps`. */
export const runsReplacedCode = (maps: string): boolean =>
  /^\S+ ..x. \S+ \S+ \d+ +\/(?:usr|lib|lib32|lib64|bin|sbin)\/.* \(deleted\)$/m.test(maps);

/** The system's service that a process belongs to, by its `/proc/…/cgroup`; undefined for what users run, and for none. */
export function unitOf(cgroup: string): string | undefined {
  // Where both versions of control groups are mounted, only that of systemd's own names the unit.
  const paths = [...cgroup.matchAll(/^(?:0:|\d+:name=systemd):(\/.*)$/gm)].map(([, path = ""]) => path);
  const path = paths.find((each) => each !== "/") ?? "";
  if (path.startsWith("/user.slice/")) return undefined;
  return path.split("/").find((part) => part.endsWith(".service"));
}

const isUnseen = (error: unknown): boolean => isProcessGone(error) || isPermissionDenied(error);

/** The services whose processes still run code that an update has replaced, less those that carry out the work of Steward itself. */
export function createStaleUnits(proc = "/proc"): (signal: AbortSignal) => Promise<readonly string[]> {
  const namespaceOf = (pid: string): Promise<string | undefined> =>
    orUndefined(readlink(`${proc}/${pid}/ns/pid`), isUnseen);

  const unitIfStale = async (pid: string, own: string | undefined): Promise<string | undefined> => {
    // What runs in a container has files of its own.
    if ((await namespaceOf(pid)) !== own) return undefined;
    const maps = await orUndefined(readFile(`${proc}/${pid}/maps`, "utf8"), isUnseen);
    if (maps === undefined || !runsReplacedCode(maps)) return undefined;
    return unitOf((await orUndefined(readFile(`${proc}/${pid}/cgroup`, "utf8"), isUnseen)) ?? "");
  };

  return async (signal) => {
    const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
    const own = await namespaceOf("self");
    const units = new Set<string>();
    for (let at = 0; at < pids.length; at += atOnce) {
      signal.throwIfAborted();
      const found = await Promise.all(pids.slice(at, at + atOnce).map((pid) => unitIfStale(pid, own)));
      for (const unit of found) if (unit !== undefined && !isOwnTask(unit)) units.add(unit);
    }
    return [...units].sort();
  };
}
