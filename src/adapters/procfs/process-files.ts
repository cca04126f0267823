import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ProcessFiles, ProcessFilesUse } from "#domain/ports/kernel.ts";
import { isProcessOutOfReach, orUndefinedSync } from "#kernel/errors.ts";

/** Processes looked at between two turns of the event loop: about a millisecond. */
const batchSize = 64;
/** Below so many files the limit is not even read. */
const fewFiles = 50;

const parseLimit = (limits: string): number => Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.NaN);

export function createProcessFiles(ports: { procDir?: string } = {}): ProcessFiles {
  const { procDir = "/proc" } = ports;
  // Since Linux 6.2 the size of the directory is the number of files, which every user may know.
  const isCounted = (orUndefinedSync(() => statSync(join(procDir, "self/fd")))?.size ?? 0) > 0;

  const openFiles = (pid: string): number | undefined => {
    const dir = join(procDir, pid, "fd");
    return orUndefinedSync(() => (isCounted ? statSync(dir).size : readdirSync(dir).length), isProcessOutOfReach);
  };

  const use = (pid: string): ProcessFilesUse | undefined => {
    const open = openFiles(pid);
    if (open === undefined || open < fewFiles) return undefined;
    const read = (file: string): string | undefined =>
      orUndefinedSync(() => readFileSync(join(procDir, pid, file), "utf8"), isProcessOutOfReach);
    const limit = parseLimit(read("limits") ?? "");
    const name = read("comm")?.trim();
    return name === undefined || Number.isNaN(limit) || limit === 0
      ? undefined
      : { pid: Number(pid), name, open, limit };
  };

  return {
    async busiest(most) {
      const pids = readdirSync(procDir).filter((name) => /^\d+$/.test(name));
      const found: ProcessFilesUse[] = [];
      for (const [at, pid] of pids.entries()) {
        if (at % batchSize === batchSize - 1) await nextTurn();
        const each = use(pid);
        if (each !== undefined) found.push(each);
      }
      return found.sort((a, b) => b.open / b.limit - a.open / a.limit).slice(0, most);
    },
  };
}
