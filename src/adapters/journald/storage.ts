import type { Dirent } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { JournalStorage } from "#domain/ports/journal.ts";
import { isNotFound } from "#kernel/errors.ts";

/** Where journald keeps its files: on the disk, and in memory until the disk is there or where none is wanted. */
const hostDirectories = {
  disk: "/var/log/journal",
  memory: "/run/log/journal",
  machineId: "/etc/machine-id",
};

const vacuumTimeoutMs = 5 * 60_000;

/** Journal files, active and archived; a file that was not closed well is renamed to end with `~`. */
const isJournalFile = (entry: Dirent): boolean => entry.isFile() && /\.journal~?$/.test(entry.name);

/** The names by which journald knows what it archived; it leaves files with any other name alone. */
const archivedNames = [
  /^.+@[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{16}\.journal$/s,
  /^.+@[0-9a-f]{16}-[0-9a-f]{16}\.journal~$/s,
];
const isArchived = (name: string): boolean => archivedNames.some((pattern) => pattern.test(name));

/** The files that journald writes: it archives them when it is asked to rotate. */
const isActive = (name: string): boolean => /^(?:system|user-\d+)\.journal$/.test(name);

interface Taken {
  bytes: number;
  files: number;
  archivedBytes: number;
  activeBytes: number;
}

interface DirectoryUse {
  readonly isVacuumed: boolean;
  readonly isWritten: boolean;
}
const unused: DirectoryUse = { isVacuumed: false, isWritten: false };

async function taken(
  directory: string,
  useOf: (directory: string) => DirectoryUse,
  signal: AbortSignal,
): Promise<Taken | undefined> {
  let entries: readonly Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true, recursive: true });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  const sum: Taken = { bytes: 0, files: 0, archivedBytes: 0, activeBytes: 0 };
  for (const entry of entries.filter(isJournalFile)) {
    signal.throwIfAborted();
    try {
      // st_blocks counts 512 bytes whatever the block size (stat(2)); files are grown ahead of what is in them.
      const bytes = (await lstat(join(entry.parentPath, entry.name))).blocks * 512;
      sum.bytes += bytes;
      sum.files += 1;
      const { isVacuumed, isWritten } = useOf(entry.parentPath);
      if (isVacuumed && isArchived(entry.name)) sum.archivedBytes += bytes;
      if (isWritten && isActive(entry.name)) sum.activeBytes += bytes;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return sum;
}

async function readMachineId(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * The files of journald, of this machine and of any other whose journals lie there, or those of the directory that settings
 * name. Of the host's own, journalctl vacuums what is of this machine; of a named directory, what is of any machine. It goes by the
 * names that journald gives to archived files, whatever is in them; files with other names stay, and so do those in use.
 */
export function createJournalStorage(ports: {
  exec: Exec;
  /** `journal.dir` of the settings. */
  dir?: string | undefined;
  directories?: { readonly disk: string; readonly memory: string; readonly machineId: string };
}): JournalStorage {
  const { exec, dir, directories = hostDirectories } = ports;
  const disk = dir === undefined ? directories.disk : resolve(dir);

  const run = async (option: string, signal: AbortSignal): Promise<void> => {
    const where = dir === undefined ? [] : [`--directory=${disk}`];
    const options = { signal, timeoutMs: vacuumTimeoutMs };
    const { exitCode, stderr } = await exec(["journalctl", "--quiet", ...where, option], options);
    const lines = stderr.trim().split("\n");
    // It ends well even where it could not delete a file.
    const failure = lines.find((line) => line.startsWith("Failed to"));
    if (exitCode === 0 && failure === undefined) return;
    throw new CommandFailed(`journalctl says: ${failure ?? (lines.at(-1) || `exit code ${exitCode}`)}`);
  };

  return {
    async size(signal) {
      const own = dir === undefined ? await readMachineId(directories.machineId) : undefined;
      const isOwn = (directory: string): boolean => own !== undefined && directory === join(disk, own);
      const useOf = (directory: string): DirectoryUse => ({
        isVacuumed: directory === disk || (dir === undefined ? isOwn(directory) : dirname(directory) === disk),
        isWritten: isOwn(directory),
      });
      const onDisk = await taken(disk, useOf, signal);
      const inMemory = dir === undefined ? await taken(directories.memory, () => unused, signal) : undefined;
      const files = (onDisk?.files ?? 0) + (inMemory?.files ?? 0);
      if (files === 0) return undefined;
      return {
        diskBytes: onDisk?.bytes ?? 0,
        memoryBytes: inMemory?.bytes ?? 0,
        files,
        directory: disk,
        archivedBytes: onDisk?.archivedBytes ?? 0,
        activeBytes: onDisk?.activeBytes ?? 0,
      };
    },
    canRotate: dir === undefined,
    rotate: (signal) => run("--rotate", signal),
    vacuum: (keepBytes, signal) => run(`--vacuum-size=${Math.max(1, Math.floor(keepBytes))}`, signal),
  };
}
