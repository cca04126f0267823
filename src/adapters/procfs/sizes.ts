import { stat, statfs } from "node:fs/promises";
import type { FileSystemSizes } from "#domain/ports/disks.ts";
import { errnoCode } from "#kernel/errors.ts";

/** For so long a file system may take to say how full it is. */
export const answerTimeoutMs = 5_000;

async function readSizes(path: string): Promise<FileSystemSizes> {
  const { frsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    totalBytes: blocks * frsize,
    freeBytes: bfree * frsize,
    availableBytes: bavail * frsize,
    totalInodes: files,
    freeInodes: ffree,
  };
}

export function shared<T>(ask: (path: string) => Promise<T>): (path: string) => Promise<T> {
  const asked = new Map<string, Promise<T>>();
  return (path) => {
    const before = asked.get(path);
    if (before !== undefined) return before;
    const answer = ask(path).finally(() => asked.delete(path));
    asked.set(path, answer);
    return answer;
  };
}

/** One for the whole process: of a disk that hangs all who ask wait for one thread. */
export const askSizes = shared(readSizes);

/** XFS lets nobody in once it has shut itself down after an error; its line in the list of mounts stays as it was. */
export const isShutDown = (path: string): Promise<boolean> =>
  stat(path).then(
    () => false,
    (error: unknown) => {
      if (errnoCode(error) === "EIO") return true;
      throw error;
    },
  );
