import { readRegularFile } from "#adapters/files/index.ts";

const maxBytes = 64 * 1024;

export const adminKeyFile = "admin.key";

export interface ServiceFile {
  readonly text: string;
  readonly uid: number;
}

/**
 * Reads a file in the state directory for a user with more rights than the service, which may have replaced it: follows no links and
 * blocks on nothing. @throws FileUnreadable.
 */
export function readServiceFile(path: string): ServiceFile {
  const { content, stat } = readRegularFile(path, { followsLinks: false, maxBytes });
  return { text: content.toString("utf8"), uid: stat.uid };
}
