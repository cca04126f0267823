import { chmodSync, chownSync, fstatSync, lstatSync, mkdirSync, readFileSync, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";
import { dirname } from "node:path";
import { isWritableByOthers } from "#adapters/files/index.ts";

export interface PassedSockets {
  readonly members: number | undefined;
  readonly administrator: number | undefined;
  readonly connection?: number | undefined;
}

const firstPassed = 3;

/** What the kernel takes, its NUL not counted (unix(7)). */
const longestPath = 107;

/** Takes the variables of sd_listen_fds(3) out of an environment; undefined when no sockets were passed. */
export function takePassedSockets(environment: NodeJS.ProcessEnv, pid: number): PassedSockets | undefined {
  const { LISTEN_PID: meant, LISTEN_FDS: count = "", LISTEN_FDNAMES: text = "" } = environment;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete environment[name];
  if (meant !== String(pid) || !/^[1-9]\d?$/.test(count)) return undefined;
  const names = text.split(":").slice(0, Number(count));
  const descriptorOf = (name: string): number | undefined => {
    const at = names.indexOf(name);
    return at === -1 ? undefined : firstPassed + at;
  };
  return {
    members: descriptorOf("steward"),
    administrator: descriptorOf("root"),
    connection: descriptorOf("connection"),
  };
}

function boundPath(descriptor: number): string | undefined {
  const { ino } = fstatSync(descriptor);
  for (const line of readFileSync("/proc/net/unix", "utf8").split("\n")) {
    const [, inode, path] = /^(?:\S+\s+){6}(\d+) (\/.*)$/.exec(line) ?? [];
    if (inode === String(ino)) return path;
  }
  return undefined;
}

const listening = (server: Server, where: { readonly fd: number } | { readonly path: string }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });

const isAnswered = (path: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve(false);
      else reject(error);
    });
  });

const ownUid = (): number => process.getuid?.() ?? 0;

/** Removes the socket of a service that has ended without doing so. @throws Error where anything else has the name. */
async function removeStale(path: string): Promise<void> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isSocket() || stat.uid !== ownUid()) throw new Error(`${path} exists and is not a socket of this user`);
  if (await isAnswered(path)) throw new Error(`another program listens on ${path}`);
  unlinkSync(path);
}

/** @throws Error where others could put sockets of their own into the directory. */
function prepareDir(dir: string, mode: number): void {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(dir, { mode });
    chmodSync(dir, mode);
  }
  const stat = lstatSync(dir);
  if (!stat.isDirectory() || stat.uid !== ownUid() || isWritableByOthers(stat))
    throw new Error(`${dir} is not a directory that only this user can write to`);
}

const groupId = (name: string): number | undefined => {
  const line = readFileSync("/etc/group", "utf8")
    .split("\n")
    .find((each) => each.startsWith(`${name}:`));
  return line === undefined ? undefined : Number(line.split(":")[2]);
};

function openToGroup(path: string, group: string): void {
  const gid = ownUid() === 0 ? groupId(group) : undefined;
  if (gid === undefined) return;
  chownSync(path, ownUid(), gid);
  chmodSync(path, 0o660);
}

/** One for the group, which takes a key, and one for root. */
type Both<T> = Readonly<Record<"members" | "administrator", T>>;

async function makeSockets(servers: Both<Server>, paths: Both<string>): Promise<string> {
  const isRoot = ownUid() === 0;
  for (const path of [paths.members, paths.administrator])
    if (Buffer.byteLength(path) > longestPath) throw new Error(`${path} has more than ${longestPath} bytes`);
  prepareDir(dirname(paths.members), isRoot ? 0o755 : 0o700);
  for (const kind of ["members", "administrator"] as const) {
    await removeStale(paths[kind]);
    // For this user alone from the start: the mask of the process sees to that.
    await listening(servers[kind], { path: paths[kind] });
    chmodSync(paths[kind], 0o600);
  }
  openToGroup(paths.members, "steward");
  return paths.members;
}

/** On the passed sockets, else on its own. @returns the path of the one that takes a key. */
export async function listenLocally(
  servers: Both<Server>,
  where: { readonly passed: PassedSockets | undefined; readonly paths: Both<string> },
): Promise<string | undefined> {
  const { passed, paths } = where;
  if (passed === undefined) return makeSockets(servers, paths);
  const { members, administrator } = passed;
  // Asked before the server has it, which hides where it is bound.
  const path = members === undefined ? undefined : boundPath(members);
  if (members !== undefined) await listening(servers.members, { fd: members });
  if (administrator !== undefined) await listening(servers.administrator, { fd: administrator });
  return path;
}
