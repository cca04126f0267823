import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL } = constants;
const chunkBytes = 256 * 1024;

export const pathWithin = (directory: FileHandle, name: string | Buffer): string | Buffer =>
  typeof name === "string"
    ? `/proc/self/fd/${directory.fd}/${name}`
    : Buffer.concat([Buffer.from(`/proc/self/fd/${directory.fd}/`), name]);

export const openDirectory = (path: string): Promise<FileHandle> => open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

export const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const parentPart = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0));

/** A directory below another one; no part of the path is a link. */
export async function openBelow(root: string, path: string): Promise<FileHandle> {
  let directory = await openDirectory(root);
  for (const name of path === "" ? [] : path.split("/")) {
    try {
      const inner = await openDirectory(String(pathWithin(directory, name)));
      await directory.close();
      directory = inner;
    } catch (error) {
      await directory.close();
      throw error;
    }
  }
  return directory;
}

/** Never through a link, and never waiting for anyone who writes into a pipe. */
export const openFile = (path: string): Promise<FileHandle> => open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);

export const openNew = (path: string): Promise<FileHandle> =>
  open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);

export interface Content {
  readonly sha256: string;
  readonly size: number;
}

export async function digest(source: FileHandle, copy?: FileHandle): Promise<Content> {
  const hash = createHash("sha256");
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (let size = 0; ; ) {
    const { bytesRead } = await source.read(chunk, 0, chunkBytes, size);
    if (bytesRead === 0) return { sha256: hash.digest("hex"), size };
    const read = chunk.subarray(0, bytesRead);
    hash.update(read);
    for (let at = 0; copy !== undefined && at < bytesRead; ) {
      at += (await copy.write(read, at, bytesRead - at)).bytesWritten;
    }
    size += bytesRead;
  }
}

export async function using<T>(opening: Promise<FileHandle>, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await opening;
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}
