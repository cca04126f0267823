import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/** More than keys and certificates are long. */
const mostBytes = 64 * 1024;

/** A file of the service's. */
export interface ServiceFile {
  readonly text: string;
  /** Whose it is, and whose the folder is that it lies in, may be somebody else. */
  readonly uid: number;
}

/**
 * Reads a file in the state folder for somebody who may have more rights than the service, which can put anything in its place:
 * no link is followed, and nothing is waited for.
 * @throws Error when it cannot be read, or is no file.
 */
export function readServiceFile(path: string): ServiceFile {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new Error(`${path} is not a file`);
    if (stat.size > mostBytes) throw new Error(`${path} is longer than such a file can be`);
    return { text: readFileSync(handle, "utf8"), uid: stat.uid };
  } finally {
    closeSync(handle);
  }
}
