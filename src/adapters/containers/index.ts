import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { request as requestHttp } from "node:http";
import { join } from "node:path";
import type { Container, ContainerEngine, ContainerState, Containers } from "#domain/ports/containers.ts";
import { errorMessage, isNotFound, isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";
import { isNumber, isRecord, isString, type JsonObject, recordsIn } from "#kernel/values.ts";

const timeoutMs = 10_000;
const maxAnswerBytes = 16 * 1024 * 1024;
const mostInspected = 100;

interface Engine {
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

class EngineFailed extends Error {
  override readonly name = "EngineFailed";
}

/** One GET of the API. @returns undefined for 404: the container was removed meanwhile. */
function get(socketPath: string, path: string, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { socketPath, path, signal, agent: false, timeout: timeoutMs, headers: { host: "localhost" } };
    const request = requestHttp(options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) request.destroy(new EngineFailed("its answer is larger than 16 MiB"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 404) return resolve(undefined);
        if (response.statusCode !== 200) return reject(new EngineFailed(`it answers ${response.statusCode}`));
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")));
        } catch {
          reject(new EngineFailed("its answer is not JSON"));
        }
      });
    });
    request.on("timeout", () => request.destroy(new EngineFailed(`no answer within ${timeoutMs / 1000} s`)));
    request.on("error", reject);
    request.end();
  });
}

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
  // One that is restarted over and over may run at this moment. While it waits to be restarted Docker says of it that it runs too.
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

const unhealthyOnly = `filters=${encodeURIComponent(JSON.stringify({ health: ["unhealthy"] }))}`;

async function containersOf(
  engine: ContainerEngine,
  socketPath: string,
  signal: AbortSignal,
): Promise<readonly Container[]> {
  const list = async (query: string) =>
    recordsIn(await get(socketPath, `/containers/json?${query}`, signal)).flatMap(parseListed);
  const all = await list("all=1");
  const unhealthy = new Set((await list(unhealthyOnly)).map(({ id }) => id));
  const asked = all.filter(({ isSteady }) => !isSteady).slice(0, mostInspected);
  const states = new Map<string, ContainerState>();
  const unread = new Map<string, string>();
  // One after the other: an engine has other work.
  for (const { id, state } of asked) {
    const answer = await get(socketPath, `/containers/${id}/json`, signal).catch((error: unknown) => {
      if (!(error instanceof EngineFailed)) throw error;
      unread.set(id, error.message);
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

export function createContainers({ runDir = "/run", procDir = "/proc" } = {}): Containers {
  const boundTo = async (path: string): Promise<readonly string[]> =>
    listeningInodes((await orUndefined(readFile(join(procDir, "net/unix"), "utf8"), isPermissionDenied)) ?? "", path);
  /** Also where the directory of the socket is closed to this user: the kernel has a list of sockets that everybody may read. */
  const isBound = async (path: string): Promise<boolean> => {
    try {
      return (await stat(path)).isSocket();
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isPermissionDenied(error)) throw error;
      return (await boundTo(path)).length > 0;
    }
  };
  /** Whether a process holds one of some sockets; undefined where this user may not see what it holds. */
  const holds = async (pid: string, sockets: ReadonlySet<string>): Promise<boolean | undefined> => {
    try {
      const folder = join(procDir, pid, "fd");
      for (const name of await readdir(folder))
        if (sockets.has((await orUndefined(readlink(join(folder, name)))) ?? "")) return true;
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
    for (const pid of (await readdir(procDir)).filter((name) => /^\d+$/.test(name) && name !== "1")) {
      const isHeld = await holds(pid, sockets);
      if (isHeld === true) return true;
      isUnseen ||= isHeld === undefined;
    }
    return isUnseen;
  };
  const canAsk = async ({ socket, pidFile }: Engine): Promise<boolean> => {
    const path = join(runDir, socket);
    if (!(await isBound(path))) return false;
    if (pidFile === undefined || (await orUndefined(stat(join(runDir, pidFile)))) !== undefined) return true;
    return hasListener(path);
  };
  const present = async (): Promise<readonly Engine[]> => {
    const can = await Promise.all(allEngines.map(canAsk));
    return allEngines.filter((_, at) => can[at]);
  };

  return {
    engines: async () => (await present()).map(({ engine }) => engine),
    async list(signal) {
      const found = await Promise.all(
        (await present()).map(async ({ engine, socket }) => {
          try {
            return await containersOf(engine, join(runDir, socket), signal);
          } catch (error) {
            throw new EngineFailed(`cannot ask ${engine}: ${errorMessage(error)}`, { cause: error });
          }
        }),
      );
      return found.flat();
    },
  };
}
