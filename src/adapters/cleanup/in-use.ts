import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { errnoCode, isPermissionDenied, isProcessGone } from "#kernel/errors.ts";

/** A process that has ended holds nothing, also while its parent has not asked about it (EINVAL from its mountinfo). */
async function orGone<T>(work: Promise<T>, whenGone: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isProcessGone(error) || errnoCode(error) === "EINVAL") return whenGone;
    throw error;
  }
}

const mappedNames = (text: string): readonly string[] =>
  text
    .split(/[\s]/)
    .filter((word) => word.includes("/"))
    .map((word) => basename(word));

async function namesOfProcess(procDir: string, pid: string): Promise<readonly string[]> {
  const folder = join(procDir, pid, "fd");
  const numbers = await orGone(readdir(folder), []);
  // The link is read and not followed: the file of a server that is gone would never answer.
  const targets = await Promise.all(numbers.map((number) => orGone(readlink(join(folder, number)), "")));
  const maps = await orGone(readFile(join(procDir, pid, "maps"), "utf8"), "");
  const mounts = await orGone(readFile(join(procDir, pid, "mountinfo"), "utf8"), "");
  return [
    ...targets.map((target) => basename(target.replace(/ \(deleted\)$/, ""))),
    ...mappedNames(maps),
    ...mappedNames(mounts),
  ];
}

async function loopNames(sysDir: string): Promise<readonly string[]> {
  const blocks = await orGone(readdir(join(sysDir, "block")), []);
  const files = blocks
    .filter((name) => name.startsWith("loop"))
    .map((name) => orGone(readFile(join(sysDir, "block", name, "loop/backing_file"), "utf8"), ""));
  return (await Promise.all(files)).map((path) => basename(path.trim().replace(/ \(deleted\)$/, "")));
}

/** Last parts of the paths that are open, mapped, mounted or swapped to; undefined where not all processes can be read. */
export async function namesInUse(
  { procDir, sysDir }: { procDir: string; sysDir: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const pids = (await readdir(procDir)).filter((name) => /^\d+$/.test(name));
  const swaps = await orGone(readFile(join(procDir, "swaps"), "utf8"), "");
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
