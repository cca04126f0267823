import { readdir, readFile, readlink } from "node:fs/promises";
import type { StaleCode, StaleProcess } from "#domain/ports/updates.ts";
import { isOwnTask } from "#domain/system/service-policy.ts";
import { isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";

const atOnce = 16;

/** Programs and libraries of the host; what else is mapped and deleted is memory, made by the program itself, or temporary. */
const codeLine = /^\S+ ..x. \S+ \S+ \d+ +(\/(?:usr|lib|lib32|lib64|bin|sbin|opt|nix)\/.*) \(deleted\)$/gm;
/** What package managers add to the name of a file while they replace it. */
const temporarySuffix = /(?:\.dpkg-(?:new|tmp)|;[0-9a-f]{8})$/;

/** Files of programs and libraries that have been replaced or removed since a process loaded them, by its `/proc/…/maps`. */
export function replacedFiles(maps: string): readonly string[] {
  const paths = [...maps.matchAll(codeLine)].map(([, path = ""]) => path.replace(temporarySuffix, ""));
  return [...new Set(paths)].sort();
}

/** The system's service that a process belongs to, by its `/proc/…/cgroup`; undefined for what users run, and for none. */
export function unitOf(cgroup: string): string | undefined {
  // Where both versions of control groups are mounted, only that of systemd's own names the unit.
  const paths = [...cgroup.matchAll(/^(?:0:|\d+:name=systemd):(\/.*)$/gm)].map(([, path = ""]) => path);
  const path = paths.find((each) => each !== "/") ?? "";
  if (path.startsWith("/user.slice/")) return undefined;
  return path.split("/").find((part) => part.endsWith(".service"));
}

/** Processes that still run code that has been replaced or removed. */
export function createStaleCode(proc = "/proc"): StaleCode {
  const namespaceOf = (pid: string): Promise<string | undefined> =>
    orUndefined(readlink(`${proc}/${pid}/ns/pid`), (error) => isProcessGone(error) || isPermissionDenied(error));
  const read = async (pid: string, file: string): Promise<string> =>
    (await orUndefined(readFile(`${proc}/${pid}/${file}`, "utf8"), isProcessGone)) ?? "";

  const inspect = async (pid: string, own: string | undefined): Promise<StaleProcess | "hidden" | undefined> => {
    // What runs in a container has files of its own.
    if (((await namespaceOf(pid)) ?? own) !== own) return undefined;
    try {
      const files = replacedFiles(await read(pid, "maps"));
      if (files.length === 0) return undefined;
      const unit = unitOf(await read(pid, "cgroup")) ?? null;
      return { pid: Number(pid), name: (await read(pid, "comm")).trimEnd(), unit, files };
    } catch (error) {
      if (isPermissionDenied(error)) return "hidden";
      throw error;
    }
  };

  return {
    async find(signal) {
      const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
      const own = await namespaceOf("self");
      const processes: StaleProcess[] = [];
      let hidden = 0;
      for (let at = 0; at < pids.length; at += atOnce) {
        signal.throwIfAborted();
        for (const found of await Promise.all(pids.slice(at, at + atOnce).map((pid) => inspect(pid, own)))) {
          if (found === "hidden") hidden += 1;
          else if (found !== undefined && !isOwnTask(found.unit ?? "")) processes.push(found);
        }
      }
      return { processes: processes.toSorted((a, b) => a.pid - b.pid), hidden };
    },
  };
}

/** The services of {@link createStaleCode}. */
export function createStaleUnits(proc?: string): (signal: AbortSignal) => Promise<readonly string[]> {
  const code = createStaleCode(proc);
  return async (signal) => {
    const { processes } = await code.find(signal);
    return [...new Set(processes.flatMap(({ unit }) => unit ?? []))].sort();
  };
}
