import { closeSync, constants, fchmodSync, fstatSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { AuditLog } from "#domain/access/ports.ts";
import type { Dispose } from "#domain/kernel/clock.ts";

const fileName = "audit.log";

export interface FileAuditLog extends AuditLog {
  /** @returns the reason when the log cannot be written. */
  readonly check: () => string | undefined;
  readonly dispose: Dispose;
}

/**
 * An append-only file in the state folder: one JSON object for each line.
 * @throws Error when it cannot be opened for appending.
 */
export function openAuditLog({ stateDir }: { stateDir: string }): FileAuditLog {
  const path = join(stateDir, fileName);
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  let handle: number;
  try {
    handle = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (error) {
    throw new Error(`cannot open the audit log ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const { uid } = fstatSync(handle);
  if (!fstatSync(handle).isFile() || uid !== process.getuid?.()) {
    closeSync(handle);
    throw new Error(`cannot use the audit log ${path}: it is not a file of this user's own (move it away)`);
  }
  fchmodSync(handle, 0o600);
  let fault: string | undefined;
  /** Whether the last entry was cut off: the next one starts a line of its own. */
  let isTorn = false;
  const write = (text: string): void => {
    try {
      const bytes = Buffer.from(isTorn ? `\n${text}` : text);
      const written = writeSync(handle, bytes);
      isTorn = written > 0 && written < bytes.length;
      if (written < bytes.length) throw new Error("there is no room for a whole entry");
      fault = undefined;
    } catch (error) {
      fault = `audit log ${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
      throw error;
    }
  };
  return {
    record: (entry) => write(`${JSON.stringify(entry)}\n`),
    check() {
      if (fstatSync(handle).nlink === 0)
        return `audit log ${path} was deleted while it is in use (restart the service)`;
      if (fault === undefined) return undefined;
      try {
        // A full disk heals, so the disk is tried again; the line break also ends an entry that was cut off.
        write("\n");
        return undefined;
      } catch {
        return fault;
      }
    },
    dispose: () => closeSync(handle),
  };
}
