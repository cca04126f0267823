import type { ProcessEntry } from "#contract/processes.ts";
import { formatBytes } from "#kernel/text.ts";
import { ask, type Reads, type Surrounding } from "./reads.ts";
import { namedProcesses } from "./subjects.ts";

const few = { processes: 8 } as const;
const ofLoad = new Set(["cpu_load", "pressure", "temperature", "kernel_errors"]);
const ofMemory = new Set(["memory", "swap_usage", "oom_kills", "unit_memory"]);

const lineOf = ({ pid, name, unit, user, cpu_percent: cpu, memory_bytes: memory, state }: ProcessEntry): string =>
  `${name}[${pid}] of ${unit ?? "no unit"} as ${user ?? "?"}: ${state}, ${cpu} % processor, ${formatBytes(memory)}`;

const by = (sort: "cpu" | "memory"): Surrounding["read"] =>
  async function read(reads, _, context) {
    const { processes } = await ask(reads, "listProcesses", { sort, limit: few.processes }, context);
    return { lines: processes.map(lineOf) };
  };

/** What no directory has and yet uses space. */
export const deletedFiles: Surrounding = {
  title: "Deleted files that are still open",
  scope: "processes:read",
  concerns: ({ check_id: id }) => id === "disk_space",
  async read(reads, _, context) {
    const query = { sort: "deleted", limit: few.processes };
    const { processes } = await ask(reads, "listProcesses", query, context);
    const lines = processes.flatMap(({ pid, name, unit, deleted_files: files }) => {
      if (files === null || files === undefined || files.bytes === 0) return [];
      const rest = files.count === 1 ? "" : ` and ${files.count - 1} more`;
      return [`${name}[${pid}] of ${unit ?? "no unit"}: ${formatBytes(files.bytes)}, ${files.largest}${rest}`];
    });
    const isUnknown = processes.some((each) => each.deleted_files === null && !each.is_kernel_thread);
    return { lines: isUnknown ? [...lines, "those of some processes are not known"] : lines };
  },
};

/** Those that still run: another process may have the number by now. */
async function stillRunning(
  reads: Reads,
  named: ReturnType<typeof namedProcesses>,
  context: Parameters<Surrounding["read"]>[2],
): Promise<readonly ProcessEntry[]> {
  const found: ProcessEntry[] = [];
  for (const { pid, name } of named) {
    const { processes } = await ask(reads, "listProcesses", { pid, limit: 1 }, context);
    found.push(...processes.filter((process) => process.name === name));
  }
  return found;
}

/** The processes that a check names by their number, with their units, whose state and log say more. */
export const processesNamed: Surrounding = {
  title: "Processes that the check names",
  scope: "processes:read",
  concerns: (result) => namedProcesses(result).length > 0,
  async read(reads, result, context) {
    const found = await stillRunning(reads, namedProcesses(result), context);
    return { lines: found.map(lineOf), units: [...new Set(found.flatMap(({ unit }) => unit ?? []))] };
  },
};

export const busiestProcesses: Surrounding = {
  title: "Processes that use most of the processors",
  scope: "processes:read",
  concerns: ({ check_id: id }) => ofLoad.has(id),
  read: by("cpu"),
};

export const largestProcesses: Surrounding = {
  title: "Processes that use most memory",
  scope: "processes:read",
  concerns: ({ check_id: id }) => ofMemory.has(id),
  read: by("memory"),
};
