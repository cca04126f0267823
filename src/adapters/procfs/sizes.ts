import { CommandFailed } from "#adapters/exec/command.ts";
import { exec } from "#adapters/exec/index.ts";
import { leftBehind } from "#adapters/exec/left-behind.ts";
import type { FileSystemSizes } from "#domain/ports/disks.ts";
import { createShared } from "#kernel/async.ts";
import { errnoCode } from "#kernel/errors.ts";

/** For so long a file system may take to say how full it is. */
export const answerTimeoutMs = 5_000;

/** What GNU's stat(1) and realpath(1) say in the locale C, of what is handled by its code. Of all else the text stands in its place. */
const codes: readonly (readonly [text: string, code: string])[] = [
  ["Permission denied", "EACCES"],
  ["Operation not permitted", "EPERM"],
  ["No such file or directory", "ENOENT"],
  ["Not a directory", "ENOTDIR"],
  ["Input/output error", "EIO"],
  ["Transport endpoint is not connected", "ENOTCONN"],
  ["Stale file handle", "ESTALE"],
];

export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** By a program: a thread of this process that waits for a disk could not be left behind. @throws NoAnswer, or Error with `code`. */
async function ask(program: "stat" | "realpath", options: readonly string[], path: string): Promise<string> {
  const silent = (cause?: unknown): NoAnswer => new NoAnswer(`cannot look at ${path}: no answer`, { cause });
  if (leftBehind.paths("stat").includes(path)) throw silent();
  const onLeft = (pid: number): void => leftBehind.add("stat", path, pid);
  // Those who ask have stopped waiting by then.
  const limits = { timeoutMs: 2 * answerTimeoutMs, onLeft };
  const { exitCode, stdout, stderr } = await exec([program, ...options, "--", path], limits).catch((error: unknown) => {
    // One that cannot be started has a cause, one that is ended since it took too long has none.
    throw error instanceof CommandFailed && error.cause === undefined ? silent(error) : error;
  });
  if (exitCode === 0) return stdout.replace(/\n$/, "");
  const message = stderr.trim();
  const text = message.slice(message.lastIndexOf(": ") + 2);
  const code = codes.find(([known]) => known === text)?.[1] ?? text;
  throw Object.assign(new Error(`cannot look at ${path}: ${message}`), { code });
}

const stat = (path: string, ...options: readonly string[]): Promise<string> => ask("stat", options, path);

async function readSizes(path: string): Promise<FileSystemSizes> {
  const text = await stat(path, "--file-system", "--format=%S %b %f %a %c %d");
  const [blockBytes = 0, blocks = 0, free = 0, available = 0, inodes = 0, freeInodes = 0] = text.split(" ").map(Number);
  return {
    totalBytes: blocks * blockBytes,
    freeBytes: free * blockBytes,
    availableBytes: available * blockBytes,
    totalInodes: inodes,
    freeInodes,
  };
}

const share = createShared();

/** One for the whole process: of a disk that hangs all who ask wait for one process. */
export const askSizes = (path: string): Promise<FileSystemSizes> => share(`sizes ${path}`, () => readSizes(path));

/** Without links. */
export const askRealPath = (path: string): Promise<string> =>
  share(`real ${path}`, () => ask("realpath", ["--canonicalize-existing"], path));

const askKind = (path: string): Promise<string> =>
  share(`kind ${path}`, () => stat(path, "--dereference", "--format=%F"));

export const askIsFile = async (path: string): Promise<boolean> => (await askKind(path)) !== "directory";

/** XFS admits nobody once it has shut itself down after an error; its line in the list of mounts stays as it was. */
export const askIsShutDown = async (path: string): Promise<boolean> => {
  try {
    await askKind(path);
    return false;
  } catch (error) {
    if (errnoCode(error) === "EIO") return true;
    throw error;
  }
};
