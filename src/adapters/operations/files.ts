import { randomBytes } from "node:crypto";
import { constants, fchmodSync, fstatSync, readFileSync, readSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withFile } from "#adapters/files/index.ts";
import { errnoCode, isNotFound, orUndefinedSync } from "#kernel/errors.ts";

export const directoriesName = "operations";
export const specName = "spec.json";
export const stateName = "state.json";
export const cancelName = "cancel";
const claimShape = /^claim\.([1-9]\d{0,8})$/;

export const claimName = (number: number): string => `claim.${number}`;

export const newestClaim = (names: readonly string[]): number =>
  Math.max(0, ...names.map((name) => Number(claimShape.exec(name)?.[1] ?? 0)));

export const nobody = { pid: 0, startTicks: 0, bootId: "" };

const operationIdShape = /^[0-9a-z][0-9a-z-]{0,63}$/;

export const isOperationId = (text: string): boolean => operationIdShape.test(text);

const randomLetters = 4;

/** `20260131-235959-999-1f2e3d4c`: the time in UTC, so that ids sort by time, and random letters that distinguish two of the same time. */
export function createOperationId(now: number): string {
  const timestamp = new Date(now).toISOString().replaceAll(/[-:Z]/g, "").replaceAll(/[T.]/g, "-");
  return `${timestamp}-${randomBytes(randomLetters).toString("hex")}`;
}

const { O_CREAT, O_APPEND, O_RDONLY } = constants;

export const isNoFile = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "EISDIR";

export function readIfThere(path: string): string | undefined {
  return orUndefinedSync(() => readFileSync(path, "utf8"), isNoFile);
}

export interface Modes {
  readonly directory: number;
  readonly file: number;
}
export const ownModes: Modes = { directory: 0o700, file: 0o600 };
/** Below a directory that gives its group to what is made in it (inode(7)). */
export const groupModes: Modes = { directory: 0o2750, file: 0o640 };

const maxLineBytes = 4096;
const maxLogBytes = 2 * 1024 * 1024;
const logName = "log";
const olderLogName = "log.1";

/** One line without what would make two of it or move a terminal's cursor. */
const toLine = (text: string): string => {
  const plain = text.replaceAll(/(?!\t)[\p{Cc}\u2028\u2029]/gu, " ").trimEnd();
  return Buffer.from(plain).subarray(0, maxLineBytes).toString("utf8");
};

const newline = 0x0a;

function endsWithLine(handle: number, size: number): boolean {
  const last = Buffer.alloc(1);
  return size === 0 || (readSync(handle, last, 0, 1, size - 1) === 1 && last[0] === newline);
}

export function appendLine(directory: string, text: string, { file: mode } = ownModes): void {
  const path = join(directory, logName);
  const size = withFile(path, constants.O_RDWR | O_CREAT | O_APPEND, (handle) => {
    if (mode !== ownModes.file) fchmodSync(handle, mode);
    const before = fstatSync(handle).size;
    const line = `${endsWithLine(handle, before) ? "" : "\n"}${toLine(text)}\n`;
    writeFileSync(handle, line);
    return before + line.length;
  });
  if (size >= maxLogBytes) renameSync(path, join(directory, olderLogName));
}

function readLastLines(path: string, count: number): readonly string[] {
  return withFile(path, O_RDONLY, (handle) => {
    const { size } = fstatSync(handle);
    const wanted = Math.min(size, count * (maxLineBytes + 1));
    const bytes = Buffer.alloc(wanted);
    const read = readSync(handle, bytes, 0, wanted, size - wanted);
    const lines = bytes.subarray(0, read).toString("utf8").split("\n");
    if (lines.at(-1) === "") lines.pop();
    return lines.slice(-count);
  });
}

const lastLines = (path: string, count: number): readonly string[] =>
  orUndefinedSync(() => readLastLines(path, count)) ?? [];

export function tailOf(directory: string, count: number): readonly string[] {
  const newest = lastLines(join(directory, logName), count);
  if (newest.length >= count) return newest;
  return [...lastLines(join(directory, olderLogName), count - newest.length), ...newest];
}
