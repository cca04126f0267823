import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createGunzip } from "node:zlib";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { errorMessage, orUndefined } from "#kernel/errors.ts";

/** A month of a busy host has some hundred kilobytes; what lies before the last so many bytes is left out. */
const maxBytes = 32 * 1024 * 1024;
const unpackMs = 60_000;

/** What logrotate may pack with, apart from gzip. */
const unpackers: Readonly<Record<string, string>> = { xz: "/usr/bin/xz", bz2: "/usr/bin/bzip2", zst: "/usr/bin/zstd" };

/** Keeps the end of bytes that come in pieces. */
function createEnd() {
  let chunks: Buffer[] = [];
  let length = 0;
  return {
    take: (chunk: Buffer): void => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= 2 * maxBytes) return;
      chunks = [Buffer.concat(chunks).subarray(-maxBytes)];
      length = maxBytes;
    },
    text: (): string => Buffer.concat(chunks).subarray(-maxBytes).toString("utf8"),
  };
}

/** The end of a file, packed or not: as much as is read at most. */
async function readEnd(path: string, exec: Exec, signal: AbortSignal): Promise<string> {
  const end = createEnd();
  const program = unpackers[/\.(\w+)$/.exec(path)?.[1] ?? ""];
  if (program !== undefined) {
    const argv = [program, "--decompress", "--stdout", "--", path] as const;
    const { exitCode, stderr } = await exec(argv, { signal, timeoutMs: unpackMs, onOutput: end.take });
    if (exitCode !== 0) throw new CommandFailed(`cannot unpack ${path}: ${stderr.trim()}`);
    return end.text();
  }
  const file = createReadStream(path);
  const source = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  file.once("error", (error) => source.destroy(error));
  for await (const chunk of source as AsyncIterable<Buffer>) end.take(chunk);
  return end.text();
}

/** Of the files in a directory a log and what was rotated away of it, the newest first: `a`, `a-20260131.xz`, `a.1`, `a.2.gz`. */
export function rotatedNames(names: readonly string[], log: string): readonly string[] {
  return names
    .flatMap((name) => {
      if (!name.startsWith(log)) return [];
      const [whole, dated, number] =
        /^(?:-(\d{8}(?:-?\d{1,10})?)|\.(\d{1,6}))?(?:\.(?:gz|xz|bz2|zst))?$/.exec(name.slice(log.length)) ?? [];
      if (whole === undefined) return [];
      // The log itself, then dates from the latest, then numbers from the smallest.
      const kind = name === log ? 0 : dated !== undefined ? 1 : 2;
      return kind === 2 && number === undefined
        ? []
        : [{ name, kind, dated: dated ?? "", number: Number(number ?? 0) }];
    })
    .sort(
      (a, b) =>
        a.kind - b.kind ||
        (a.dated === b.dated ? 0 : a.dated < b.dated ? 1 : -1) ||
        a.number - b.number ||
        (a.name < b.name ? -1 : 1),
    )
    .map(({ name }) => name);
}

/** What a reading gives. @throws HostUnavailable where the file is there and cannot be read. */
async function orUnavailable<T>(reading: Promise<T>, path: string): Promise<T | undefined> {
  try {
    return await orUndefined(reading);
  } catch (error) {
    const missing = { missing: "package history", retryable: false };
    throw new HostUnavailable(`cannot read the history of packages: ${path}: ${errorMessage(error)}`, missing, error);
  }
}

/** @throws HostUnavailable where their directory is there and cannot be read. */
const rotatedAt = async (path: string): Promise<readonly string[]> =>
  rotatedNames((await orUnavailable(readdir(dirname(path)), path)) ?? [], basename(path));

/** Why there is no history: neither the log nor what was rotated away of it is there. */
export const missingLog = async (path: string): Promise<string | undefined> =>
  (await rotatedAt(path)).length === 0 ? `there is no ${path}` : undefined;

/**
 * Texts of a log and of what was rotated away of it, the newest first; one is read when all before it have been taken.
 * Of what was rotated away, files that are damaged or gone meanwhile are left out.
 * @throws HostUnavailable where the log itself is there and cannot be read.
 */
export async function* readRotated(path: string, exec: Exec, signal: AbortSignal): AsyncGenerator<string> {
  const [directory, log] = [dirname(path), basename(path)];
  for (const name of await rotatedAt(path)) {
    signal.throwIfAborted();
    const reading = readEnd(join(directory, name), exec, signal);
    const text = await (name === log ? orUnavailable(reading, path) : orUndefined(reading, () => !signal.aborted));
    if (text !== undefined) yield text;
  }
}

/** The host's own time, without a zone, as package managers log it: `2026-01-31 12:00:00`. Epoch milliseconds. */
export function parseLocalTime(text: string): number | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2}) +(\d{2}):(\d{2}):(\d{2})$/.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return undefined;
  return new Date(year, month - 1, day, hour, minute, second).getTime();
}
