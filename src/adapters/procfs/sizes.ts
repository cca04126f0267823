import { CommandFailed } from "#adapters/exec/command.ts";
import { exec } from "#adapters/exec/index.ts";
import { leftBehind } from "#adapters/exec/left-behind.ts";
import type { FileSystemSizes } from "#domain/ports/disks.ts";
import { createShared } from "#kernel/async.ts";
import { errnoCode } from "#kernel/errors.ts";

/** For so long a file system may take to say how full it is. */
export const answerTimeoutMs = 5_000;
/** For so long several are waited for together. */
const togetherMs = 1_000;

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

const sizesFormat = "%S %b %f %a %c %d";

function parseSizes(text: string): FileSystemSizes {
  const [blockBytes = 0, blocks = 0, free = 0, available = 0, inodes = 0, freeInodes = 0] = text.split(" ").map(Number);
  return {
    totalBytes: blocks * blockBytes,
    freeBytes: free * blockBytes,
    availableBytes: available * blockBytes,
    totalInodes: inodes,
    freeInodes,
  };
}

type Together = ReadonlyMap<string, FileSystemSizes>;

/** Of paths that one process reads. A path that it does not answer for is missing, and those behind one that does not answer at all. */
async function readTogether(paths: readonly string[]): Promise<Together> {
  if (paths.length === 1) return new Map();
  const argv = ["stat", "--file-system", `--printf=${sizesFormat} %n\\0`, "--", ...paths] as const;
  // Each that is missing is asked by itself, which says why.
  const stdout = await exec(argv, { timeoutMs: togetherMs }).then(
    (result) => result.stdout,
    () => "",
  );
  const records = stdout.split("\0").map((record) => /^((?:\d+ ){6})(.+)$/s.exec(record));
  return new Map(records.flatMap((found) => (found === null ? [] : [[found[2] ?? "", parseSizes(found[1] ?? "")]])));
}

let waiting: { readonly paths: string[]; readonly sizes: Promise<Together> } | undefined;

/** With all others that are asked for in the same turn: to start a process takes the thread milliseconds. */
function askTogether(path: string): Promise<Together> {
  const paths: string[] = waiting?.paths ?? [];
  waiting ??= {
    paths,
    sizes: Promise.resolve().then(() => {
      waiting = undefined;
      return readTogether(paths);
    }),
  };
  paths.push(path);
  return waiting.sizes;
}

async function readSizes(path: string): Promise<FileSystemSizes> {
  const together = leftBehind.paths("stat").includes(path) ? undefined : await askTogether(path);
  return together?.get(path) ?? parseSizes(await stat(path, "--file-system", `--format=${sizesFormat}`));
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
