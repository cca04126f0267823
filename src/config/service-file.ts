import { readRegularFile } from "#adapters/files/index.ts";

/** More than keys and certificates are long. */
const maxBytes = 64 * 1024;

/** In the state folder: the key that the first start makes. */
export const adminKeyFile = "admin.key";

/** A file of the service's. */
export interface ServiceFile {
  readonly text: string;
  /** Whose it is, and whose the folder is that it lies in, may be somebody else. */
  readonly uid: number;
}

/**
 * Reads a file in the state folder for somebody who may have more rights than the service, which can put anything in its place:
 * no link is followed, and nothing is waited for.
 * @throws FileUnreadable
 */
export function readServiceFile(path: string): ServiceFile {
  const { content, stat } = readRegularFile(path, { followsLinks: false, maxBytes });
  return { text: content.toString("utf8"), uid: stat.uid };
}
