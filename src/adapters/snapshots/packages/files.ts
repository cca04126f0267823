import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL } = constants;
const chunkBytes = 256 * 1024;

export const pathWithin = (folder: FileHandle, name: string | Buffer): string | Buffer =>
  typeof name === "string"
    ? `/proc/self/fd/${folder.fd}/${name}`
    : Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);

export const openFolder = (path: string): Promise<FileHandle> => open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

/** Never through a link, and never waiting for whoever writes into a pipe. */
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
