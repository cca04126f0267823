import type { GetBySocket, HostFiles } from "#domain/ports/host-files.ts";
import { errnoCode, errorMessage, isNotFound, isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";
import { isNumber, isRecord, isString, type JsonObject, recordsIn } from "#kernel/values.ts";

type ContainerEngine = "docker" | "podman";

/** What an engine says of a container that it was asked for by itself. Times are epoch milliseconds. */
export interface ContainerState {
  /** Null while it runs, and where the engine does not say. */
  readonly exitCode: number | null;
  /** Whether the OOM killer ended it. */
  readonly isOomKilled: boolean;
  /** Why the engine could not start it; empty where it could. */
  readonly error: string;
  /** Null before the first time. */
  readonly startedAt: number | null;
  /** Null before the first time. */
  readonly finishedAt: number | null;
  /** How often its policy has restarted it; null where the engine does not say. */
  readonly restarts: number | null;
  /** Empty or `no` where it is not to run again by itself, else `always`, `unless-stopped`, `on-failure`. */
  readonly restartPolicy: string;
  /** Of `on-failure`; 0 without a limit. */
  readonly mostRestarts: number;
}

export interface Container {
  readonly engine: ContainerEngine;
  readonly name: string;
  /** The engine's word: `running`, `restarting`, `exited`, `created`, `paused`, `dead`, … */
  readonly state: string;
  /** Whether its own health check fails. */
  readonly isUnhealthy: boolean;
  /** Undefined for one that has been running for an hour, and beyond the first 100. */
  readonly inspected?: ContainerState;
  /** Why the engine says nothing of it. */
  readonly unread?: string;
}

const mostInspected = 100;

export interface Engine {
  readonly engine: ContainerEngine;
  /** Below /run. */
  readonly socket: string;
  /**
   * Whether systemd may listen for it, so that a connection would start an engine that an administrator has stopped: then somebody else has to
   * listen too, which `pidFile` shows where it has this name.
   */
  readonly pidFile?: string;
}
/** Podman has no process of its own between requests: containers run without it. */
const allEngines: readonly Engine[] = [
  { engine: "docker", socket: "docker.sock", pidFile: "docker.pid" },
  { engine: "podman", socket: "podman/podman.sock" },
];

const textIn = (object: JsonObject, key: string): string => (isString(object[key]) ? object[key] : "");
const numberIn = (object: JsonObject, key: string): number => (isNumber(object[key]) ? object[key] : 0);
const objectIn = (object: JsonObject, key: string): JsonObject => (isRecord(object[key]) ? object[key] : {});

/** Never is the year 1. */
function timeIn(object: JsonObject, key: string): number | null {
  const at = Date.parse(textIn(object, key));
  return at > 0 ? at : null;
}

/** `ContainerInspect` of the Docker Engine API, which Podman answers alike. What an old engine leaves out is not known. */
function parseInspected(answer: JsonObject): ContainerState {
  const state = objectIn(answer, "State");
  // One that is restarted over and over may run right now. While it waits to be restarted Docker says of it that it runs too.
  const status = textIn(state, "Status");
  const isRunning = status === "" ? state["Running"] === true : status === "running";
  const policy = objectIn(objectIn(answer, "HostConfig"), "RestartPolicy");
  return {
    exitCode: !isRunning && isNumber(state["ExitCode"]) ? state["ExitCode"] : null,
    isOomKilled: state["OOMKilled"] === true,
    error: textIn(state, "Error"),
    startedAt: timeIn(state, "StartedAt"),
    finishedAt: timeIn(state, "FinishedAt"),
    restarts: isNumber(answer["RestartCount"]) ? answer["RestartCount"] : null,
    restartPolicy: textIn(policy, "Name"),
    mostRestarts: numberIn(policy, "MaximumRetryCount"),
  };
}

/** By its own health check. Docker says so too of each that has such a check and was stopped. */
const saysUnhealthy = (answer: JsonObject): boolean =>
  textIn(objectIn(objectIn(answer, "State"), "Health"), "Status").toLowerCase() === "unhealthy";

const idPattern = /^[0-9a-f]{12,64}$/;

/** One line of `ContainerList`, with how long it has been running, as in `Up 2 hours (healthy)`. */
function parseListed(line: JsonObject) {
  const [name] = Array.isArray(line["Names"]) ? line["Names"].filter(isString) : [];
  const id = textIn(line, "Id");
  const state = textIn(line, "State");
  const isSteady = state === "running" && /\b(hour|hours|days|weeks|months|years)\b/.test(textIn(line, "Status"));
  return idPattern.test(id) ? [{ id, name: name?.replace(/^\//, "") ?? id.slice(0, 12), state, isSteady }] : [];
}

/** One GET of the API. @returns undefined for 404: the container was removed meanwhile. */
type Get = (path: string) => Promise<unknown>;

const unhealthyOnly = `filters=${encodeURIComponent(JSON.stringify({ health: ["unhealthy"] }))}`;

async function containersOf(engine: ContainerEngine, get: Get): Promise<readonly Container[]> {
  const list = async (query: string) => recordsIn(await get(`/containers/json?${query}`)).flatMap(parseListed);
  const all = await list("all=1");
  const unhealthy = new Set((await list(unhealthyOnly)).map(({ id }) => id));
  const asked = all.filter(({ isSteady }) => !isSteady).slice(0, mostInspected);
  const states = new Map<string, ContainerState>();
  const unread = new Map<string, string>();
  // One after the other: an engine has other work.
  for (const { id, state } of asked) {
    const answer = await get(`/containers/${id}/json`).catch((error: unknown) => {
      // Without a connection, or when nobody waits any more.
      if (errnoCode(error) !== undefined) throw error;
      unread.set(id, errorMessage(error));
    });
    if (!isRecord(answer)) continue;
    states.set(id, parseInspected(answer));
    if (state === "running" && saysUnhealthy(answer)) unhealthy.add(id);
  }
  return all.map(({ id, name, state }) => {
    const [inspected, why] = [states.get(id), unread.get(id)];
    return {
      ...{ engine, name, state, isUnhealthy: unhealthy.has(id) },
      ...(inspected !== undefined && { inspected }),
      ...(why !== undefined && { unread: why }),
    };
  });
}

/** The listening sockets of a path in /proc/net/unix, by their inodes. A name of before /run was is the same place. */
const listeningInodes = (table: string, path: string): readonly string[] =>
  table.split("\n").flatMap((line) => {
    const [, , , flags, , , inode, name] = line.trim().split(/\s+/);
    const isListening = (Number.parseInt(flags ?? "", 16) & 0x10000) !== 0;
    return isListening && inode !== undefined && name?.replace(/^\/var\/run\//, "/run/") === path ? [inode] : [];
  });

export interface EngineHost {
  readonly hostFiles: Pick<HostFiles, "text" | "names" | "target" | "stat">;
  readonly getBySocket: GetBySocket;
  /** In the place of `/run`. */
  readonly runDir?: string;
}

/** Engines that can be asked without starting Docker; no rights are needed to find out. */
export async function enginesOn({
  hostFiles,
  runDir = "/run",
}: Omit<EngineHost, "getBySocket">): Promise<readonly Engine[]> {
  const boundTo = async (path: string): Promise<readonly string[]> =>
    listeningInodes((await orUndefined(hostFiles.text("/proc/net/unix"), isPermissionDenied)) ?? "", path);
  /** Also where the directory of the socket is closed to this user: the kernel has a list of sockets that everybody may read. */
  const isBound = async (path: string): Promise<boolean> => {
    try {
      return (await hostFiles.stat(path)).isSocket;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isPermissionDenied(error)) throw error;
      return (await boundTo(path)).length > 0;
    }
  };
  /** Whether a process holds one of some sockets; undefined where this user may not see what it holds. */
  const holds = async (pid: string, sockets: ReadonlySet<string>): Promise<boolean | undefined> => {
    try {
      const directory = `/proc/${pid}/fd`;
      for (const name of await hostFiles.names(directory))
        if (sockets.has((await orUndefined(hostFiles.target(`${directory}/${name}`))) ?? "")) return true;
      return false;
    } catch (error) {
      if (isPermissionDenied(error)) return undefined;
      if (isProcessGone(error)) return false;
      throw error;
    }
  };
  /** Whether another process than systemd listens; also where this user may not see it, and root has to. */
  const hasListener = async (path: string): Promise<boolean> => {
    const sockets = new Set((await boundTo(path)).map((inode) => `socket:[${inode}]`));
    if (sockets.size === 0) return false;
    let isUnseen = false;
    for (const pid of (await hostFiles.names("/proc")).filter((name) => /^\d+$/.test(name) && name !== "1")) {
      const isHeld = await holds(pid, sockets);
      if (isHeld === true) return true;
      isUnseen ||= isHeld === undefined;
    }
    return isUnseen;
  };
  const canAsk = async ({ socket, pidFile }: Engine): Promise<boolean> => {
    const path = `${runDir}/${socket}`;
    if (!(await isBound(path))) return false;
    if (pidFile === undefined || (await orUndefined(hostFiles.stat(`${runDir}/${pidFile}`))) !== undefined) return true;
    return hasListener(path);
  };
  const can = await Promise.all(allEngines.map(canAsk));
  return allEngines.filter((_, at) => can[at]);
}

/** Containers of engines that can be asked. @throws without the answer of one of them, which takes root. */
export async function readContainers(
  { getBySocket, runDir = "/run" }: Omit<EngineHost, "hostFiles">,
  engines: readonly Engine[],
  signal: AbortSignal,
): Promise<readonly Container[]> {
  const found = engines.map(async ({ engine, socket }) => {
    const get: Get = (path) => getBySocket(`${runDir}/${socket}`, path, signal);
    try {
      return await containersOf(engine, get);
    } catch (error) {
      throw new Error(`cannot ask ${engine}: ${errorMessage(error)}`, { cause: error });
    }
  });
  return (await Promise.all(found)).flat();
}
