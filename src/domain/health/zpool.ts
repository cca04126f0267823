import type { HostFiles, RunProgram } from "#domain/ports/host-files.ts";
import { orUndefined } from "#kernel/errors.ts";
import { isRecord, isString, type JsonObject, parseJsonObject } from "#kernel/values.ts";

/** What a file system keeps of the errors that it has met, until somebody resets it. Times are epoch milliseconds. */
export interface FileSystemRecord {
  /** By kind, such as `corruption_errs`; kinds without errors are left out. Null where the host does not say. */
  readonly errors: Readonly<Record<string, number>> | null;
  readonly lastErrorAt: number | null;
  /** Devices of it that are not there; null where the host does not say. */
  readonly missingDevices: number | null;
  /** The end of the last scrub, and what that could not repair; null where none is on record, undefined where the host does not say. */
  readonly scrub: { readonly endedAt: number; readonly unrepaired: number } | null | undefined;
  /** Why nothing of it is known, where reading it failed. */
  readonly unreadable?: string;
}

/** A pool of ZFS. */
export interface ZfsPool extends FileSystemRecord {
  readonly name: string;
  /** ZFS's word: `ONLINE` while all of it is there. */
  readonly state: string;
}

/** Of one of which the host says nothing. */
export const unknownRecord: FileSystemRecord = {
  errors: null,
  lastErrorAt: null,
  missingDevices: null,
  scrub: undefined,
};

const kinds = ["read_errors", "write_errors", "checksum_errors"] as const;

/** Of data, and of those that a pool cannot lose: neither caches nor spares, of which a free one is `AVAIL`. */
const classes = ["vdevs", "special", "dedup", "logs"] as const;

interface Leaf {
  readonly state: unknown;
  /** In the order of {@link kinds}. */
  readonly errors: readonly number[];
}

const isMissing = ({ state }: Leaf): boolean => state === "UNAVAIL" || state === "REMOVED";

/** @param dataErrors blocks that no copy could repair. */
function poolOf(
  leaves: readonly Leaf[],
  dataErrors: number,
): Pick<FileSystemRecord, "errors" | "missingDevices" | "lastErrorAt"> {
  const errors = kinds.map(
    (kind, at) => [kind, leaves.reduce((sum, leaf) => sum + (leaf.errors[at] ?? 0), 0)] as const,
  );
  return {
    errors: Object.fromEntries([...errors, ["data_errors", dataErrors] as const].filter(([, count]) => count > 0)),
    lastErrorAt: null,
    missingDevices: leaves.filter(isMissing).length,
  };
}

const membersOf = (value: unknown): readonly JsonObject[] =>
  isRecord(value) ? Object.values(value).filter(isRecord) : [];

/** Disks and files: what is made of others counts their errors once more. */
const leavesOf = (vdev: JsonObject): readonly Leaf[] => {
  const below = membersOf(vdev["vdevs"]);
  if (below.length > 0) return below.flatMap(leavesOf);
  return [{ state: vdev["state"], errors: kinds.map((kind) => Number(vdev[kind] ?? 0)) }];
};

function scrubOf(scan: unknown): FileSystemRecord["scrub"] {
  if (!isRecord(scan) || scan["function"] !== "SCRUB") return null;
  // What the last one found is not known while another runs.
  if (scan["state"] === "SCANNING") return undefined;
  if (scan["state"] !== "FINISHED") return null;
  return { endedAt: Number(scan["end_time"]) * 1000, unrepaired: Number(scan["errors"] ?? 0) };
}

/** `zpool status --json --json-int`, zpool-status(8) of OpenZFS 2.3. */
export function parseZpoolStatus(text: string): readonly ZfsPool[] {
  return membersOf(parseJsonObject(text)?.["pools"]).map((pool) => ({
    name: isString(pool["name"]) ? pool["name"] : "",
    state: isString(pool["state"]) ? pool["state"] : "",
    ...poolOf(classes.flatMap((each) => membersOf(pool[each])).flatMap(leavesOf), Number(pool["error_count"] ?? 0)),
    scrub: scrubOf(pool["scan_stats"]),
  }));
}

/** Of the tree below `config:`: what stands further to the right is part of what stands above it, and a class has a line without a state. */
function leavesOfText(lines: readonly string[]): readonly Leaf[] {
  const rows = lines.map((line) => {
    const [, indent = "", name = "", state, counts = ""] =
      /^(\s*)(\S+)(?:\s+([A-Z]+)\b((?:\s+\d+)*))?/.exec(line) ?? [];
    return { depth: indent.length, name, state, errors: counts.trim().split(/\s+/).map(Number) };
  });
  let isCounted = true;
  return rows.flatMap(({ depth, name, state, errors }, at) => {
    if (state === undefined) isCounted = name !== "cache" && name !== "spares";
    const isLeaf = state !== undefined && (rows[at + 1]?.depth ?? 0) <= depth;
    return isLeaf && isCounted ? [{ state, errors }] : [];
  });
}

function scrubOfText(scan: string): FileSystemRecord["scrub"] {
  if (/^scrub in progress\b/.test(scan)) return undefined;
  const [, errors, ended = ""] = /^scrub (?:repaired|completed)\b.* with (\d+) errors on (.+)$/.exec(scan) ?? [];
  const endedAt = Date.parse(ended);
  return Number.isNaN(endedAt) ? null : { endedAt, unrepaired: Number(errors) };
}

function parsePool(text: string): readonly ZfsPool[] {
  const field = (name: string): string => new RegExp(`^ *(?:${name}): (.+)$`, "m").exec(text)?.[1]?.trim() ?? "";
  const name = field("pool");
  if (name === "") return [];
  const [tree = ""] = text.split(/^config:$/m)[1]?.split(/^ *errors:/m) ?? [];
  const rows = tree.split("\n").filter((line) => line.trim() !== "" && !/^\s*NAME\s+STATE\b/.test(line));
  return [
    {
      name,
      state: field("state"),
      ...poolOf(leavesOfText(rows), Number(/^errors: (\d+) data errors\b/m.exec(text)?.[1] ?? 0)),
      scrub: scrubOfText(field("scan|scrub")),
    },
  ];
}

/** `zpool status -p`, zpool-status(8): made for people, and before OpenZFS 2.3 there is nothing else. */
export const parseZpoolText = (text: string): readonly ZfsPool[] => text.split(/^(?= *pool: )/m).flatMap(parsePool);

/** None without ZFS. Without an answer of `zpool`, which says more than the kernel, a pool has its state alone. */
export async function readPools(
  { hostFiles, exec }: { readonly hostFiles: Pick<HostFiles, "names" | "text">; readonly exec: RunProgram },
  signal: AbortSignal,
): Promise<readonly ZfsPool[]> {
  const directory = "/proc/spl/kstat/zfs";
  const byState = async (name: string): Promise<readonly ZfsPool[]> => {
    // Beside the directories of the pools there are files about all of them.
    if ((await orUndefined(hostFiles.names(`${directory}/${name}`))) === undefined) return [];
    const state = (await orUndefined(hostFiles.text(`${directory}/${name}/state`))) ?? "";
    return [{ ...unknownRecord, name, state: state.trim() }];
  };
  const askZpool = async (...options: readonly string[]): Promise<string> => {
    const ended = await orUndefined(
      exec(["zpool", "status", ...options], { signal, timeoutMs: 20_000 }),
      () => !signal.aborted,
    );
    // Where it cannot open one of several pools it fails, and says what it knows of the others.
    return ended?.stdout ?? "";
  };

  const names = (await orUndefined(hostFiles.names(directory))) ?? [];
  const states = (await Promise.all(names.map(byState))).flat();
  // Of a pool that waits for its devices zpool may never answer.
  if (states.length === 0 || states.some(({ state }) => state === "SUSPENDED")) return states;
  const inJson = parseZpoolStatus(await askZpool("--json", "--json-int"));
  const found = inJson.length > 0 ? inJson : parseZpoolText(await askZpool("-p"));
  return states.map((state) => found.find(({ name }) => name === state.name) ?? state);
}
