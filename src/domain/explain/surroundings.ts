import type { Static } from "typebox";
import type { HealthCheckResult } from "#contract/checks.ts";
import type { operations } from "#contract/index.ts";
import { type Context, type Handlers, SerializedJson, Versioned } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import { isRecord } from "#kernel/values.ts";

type Name = "getSystemInfo" | "listProcesses" | "getDiskUsage" | "listPackageHistory" | "listAudit" | "listChecks";

/** What others know of the host, as they would tell the caller. */
export type Reads = Pick<Handlers<typeof operations>, Name>;

/** Something about the host that may be why a check finds what it finds. */
export interface Surrounding {
  readonly title: string;
  readonly scope: Scope;
  /** Whether it belongs to what this check found. */
  readonly concerns: (result: HealthCheckResult) => boolean;
  /** Lines, the most telling first. */
  readonly read: (reads: Reads, result: HealthCheckResult, context: Context) => Promise<readonly string[]>;
}

const ofLoad = new Set(["cpu_load", "pressure", "temperature", "kernel_errors"]);
const ofMemory = new Set(["memory", "swap_usage", "oom_kills", "unit_memory", "zombie_processes", "file_descriptors"]);
const ofRoom = new Set(["disk_space", "inode_usage", "journal_size"]);
const few = { processes: 8, files: 12, transactions: 8, changes: 12, packages: 6 } as const;

type Table = typeof operations;
type Handler = (input: object, context: Context) => unknown;

/** The answer of a read, in whichever form its handler has it. */
async function ask<K extends Name>(
  reads: Reads,
  name: K,
  query: object,
  context: Context,
): Promise<Static<Table[K]["response"]>> {
  const answer = await (reads[name] as Handler)({ query, params: {} }, context);
  const made: unknown = answer instanceof Versioned ? answer.make() : answer;
  const value: unknown = made instanceof SerializedJson ? JSON.parse(new TextDecoder().decode(made.bytes)) : made;
  return value as Static<Table[K]["response"]>;
}

/** Calls that change nothing of the host: questions, tries, and how somebody signs in. */
const changesNothing = /^(?:explainCheck|diagnose|chat|test[A-Z].*)$|Session|Ticket|Code|Passkey/;

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

/** The path of the file system that is fullest, as a check of file systems names it. */
function pathIn({ details }: HealthCheckResult): string | undefined {
  const { path } = isRecord(details) ? details : {};
  return typeof path === "string" && path.startsWith("/") ? path : undefined;
}

async function processesBy(sort: "cpu" | "memory", reads: Reads, context: Context): Promise<readonly string[]> {
  const { processes } = await ask(reads, "listProcesses", { sort, limit: few.processes }, context);
  return processes.map(
    ({ pid, name, unit, user, cpu_percent: cpu, memory_bytes: memory }) =>
      `${name}[${pid}] of ${unit ?? "no unit"} as ${user ?? "?"}: ${cpu ?? "?"} % processor, ${mebibytes(memory)}`,
  );
}

export const surroundings: readonly Surrounding[] = [
  {
    title: "Host",
    scope: "system:read",
    concerns: () => true,
    async read(reads, _, context) {
      const { os, cpu, memory } = await ask(reads, "getSystemInfo", {}, context);
      return [
        `${os.name} ${os.version}, kernel ${os.kernel}`,
        `${cpu.threads} processors, memory ${memory.percent_used} % used of ${mebibytes(memory.total_bytes)}`,
      ];
    },
  },
  {
    title: "Other checks that fail or warn",
    scope: "health:read",
    concerns: () => true,
    async read(reads, { check_id: own }, context) {
      const { results } = await ask(reads, "listChecks", {}, context);
      return results
        .filter(({ check_id: id, status }) => id !== own && (status === "fail" || status === "warn"))
        .map(({ check_id: id, status, since, message }) => `${id} ${status} since ${since}: ${message}`);
    },
  },
  {
    title: "Processes that use most of the processors",
    scope: "processes:read",
    concerns: ({ check_id: id }) => ofLoad.has(id),
    read: (reads, _, context) => processesBy("cpu", reads, context),
  },
  {
    title: "Processes that use most memory",
    scope: "processes:read",
    concerns: ({ check_id: id }) => ofMemory.has(id),
    read: (reads, _, context) => processesBy("memory", reads, context),
  },
  {
    title: "What takes most room, as far as the service may read it",
    scope: "disk-usage:read",
    concerns: (result) => ofRoom.has(result.check_id) && pathIn(result) !== undefined,
    async read(reads, result, context) {
      const query = { path: pathIn(result) ?? "/", depth: 4, limit: few.files };
      const { largest, truncated } = await ask(reads, "getDiskUsage", query, context);
      const lines = largest.map(({ path, type, bytes, entries }) =>
        type === "file" ? `${path}: ${mebibytes(bytes)}` : `${path}/: ${mebibytes(bytes)} in ${entries} entries`,
      );
      return truncated === null ? lines : [...lines, `not all of it was read (${truncated})`];
    },
  },
  {
    title: "Packages changed lately",
    scope: "packages:read",
    concerns: () => true,
    async read(reads, _, context) {
      const query = { limit: few.transactions };
      const { transactions } = await ask(reads, "listPackageHistory", query, context);
      return transactions.map(({ started_at: at, command, packages }) => {
        const named = packages.slice(0, few.packages).map(({ action, name }) => `${action} ${name}`);
        const rest = packages.length > named.length ? ` and ${packages.length - named.length} more` : "";
        return `${at} ${named.join(", ")}${rest}${command === null ? "" : ` (${command})`}`;
      });
    },
  },
  {
    title: "Changes through this service lately",
    scope: "audit:read",
    concerns: () => true,
    async read(reads, _, context) {
      const { entries } = await ask(reads, "listAudit", { limit: 100, outcome: "ok" }, context);
      return entries
        .filter(({ method, dry_run: isDry, operation }) => method !== null && !isDry && !changesNothing.test(operation))
        .slice(0, few.changes)
        .map(({ time, operation, target, key_name: key }) => {
          const about = Object.values(target).join(" ");
          return `${time} ${operation} ${about} by ${key ?? "nobody known"}`;
        });
    },
  },
];
