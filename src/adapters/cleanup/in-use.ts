import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { errnoCode, isDeviceGone, isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";

/** What has ended holds nothing: a loop device, a process, also while its parent has not asked about it (EINVAL from its mountinfo). */
const isGone = (error: unknown): boolean =>
  isProcessGone(error) || isDeviceGone(error) || errnoCode(error) === "EINVAL";
const textOf = async (path: string): Promise<string> => (await orUndefined(readFile(path, "utf8"), isGone)) ?? "";
const namesIn = async (directory: string): Promise<string[]> => (await orUndefined(readdir(directory), isGone)) ?? [];

const lastPart = (path: string): string => basename(path.replace(/ \(deleted\)$/, ""));

const mappedNames = (text: string): readonly string[] =>
  text
    .split(/[\s]/)
    .filter((word) => word.includes("/"))
    .map((word) => basename(word));

async function namesOfProcess(procDir: string, pid: string): Promise<readonly string[]> {
  const directory = join(procDir, pid, "fd");
  const numbers = await namesIn(directory);
  // The link is read and not followed: the file of a server that is gone would never answer.
  const targets = await Promise.all(numbers.map((number) => orUndefined(readlink(join(directory, number)), isGone)));
  const maps = await textOf(join(procDir, pid, "maps"));
  const mounts = await textOf(join(procDir, pid, "mountinfo"));
  return [...targets.map((target) => lastPart(target ?? "")), ...mappedNames(maps), ...mappedNames(mounts)];
}

async function loopNames(sysDir: string): Promise<readonly string[]> {
  const blocks = (await namesIn(join(sysDir, "block"))).filter((name) => name.startsWith("loop"));
  const files = blocks.map((name) => textOf(join(sysDir, "block", name, "loop/backing_file")));
  return (await Promise.all(files)).map((path) => lastPart(path.trim()));
}

/** Last parts of the paths that are open, mapped, mounted or swapped to; undefined where not all processes can be read. */
export async function namesInUse(
  { procDir, sysDir }: { procDir: string; sysDir: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const pids = (await readdir(procDir)).filter((name) => /^\d+$/.test(name));
  const swaps = await textOf(join(procDir, "swaps"));
  const names = new Set<string>([...mappedNames(swaps), ...(await loopNames(sysDir))]);
  for (const pid of pids) {
    signal.throwIfAborted();
    try {
      for (const name of await namesOfProcess(procDir, pid)) names.add(name);
    } catch (error) {
      if (isPermissionDenied(error)) return undefined;
      throw error;
    }
  }
  return names;
}
