import { closeSync, constants, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;

export interface LogFile {
  readonly path: string;
  readonly firstSeq: number;
}

const nameForm = /^audit-(\d{12,15})\.log$/;
const digits = 12;

export const auditFolder = (stateDir: string): string => join(stateDir, "audit");

const nameOf = (firstSeq: number): string => `audit-${String(firstSeq).padStart(digits, "0")}.log`;

export const pathOf = (folder: string, firstSeq: number): string => join(folder, nameOf(firstSeq));

export function logFiles(folder: string): readonly LogFile[] {
  return readdirSync(folder)
    .flatMap((name) => {
      const firstSeq = Number(nameForm.exec(name)?.[1]);
      return name === nameOf(firstSeq) ? [{ path: join(folder, name), firstSeq }] : [];
    })
    .sort((a, b) => a.firstSeq - b.firstSeq);
}

/** Opens a file for appending and nothing else, which is all that `chattr +a` lets anybody do. */
export function openToAppend(path: string, isNew: boolean): number {
  const handle = openSync(path, O_WRONLY | O_APPEND | O_NOFOLLOW | (isNew ? O_CREAT | O_EXCL : 0), 0o600);
  const stat = fstatSync(handle);
  if (stat.isFile() && stat.uid === process.getuid?.()) return handle;
  closeSync(handle);
  throw new Error(`cannot use ${path}: it is not a file of this user's own (move it away)`);
}

export const openNew = (path: string): number => openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);

/** How files are opened for reading: what was put in their place, a link or a pipe, holds nobody up. */
export const readFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
