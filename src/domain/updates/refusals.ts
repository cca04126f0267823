import { DomainError, invalid } from "#domain/common/error.ts";
import { PackageFileMissing, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";

export function lockedBy({ message, holder }: PackagesLocked): DomainError {
  const details = { missing: "package manager", ...(holder && { holder }), retryable: true };
  return new DomainError("UNAVAILABLE", `cannot change packages: ${message}`, details);
}

export async function refusedAsInvalid<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PackagesLocked) throw lockedBy(error);
    if (error instanceof UpdateRefused) throw invalid("packages", error.message, `cannot update: ${error.message}`);
    const isUnsafe = error instanceof SnapshotUnusable || error instanceof PackageFileMissing;
    if (!isUnsafe) throw error;
    const details = { missing: "snapshot", retryable: false };
    throw new DomainError(
      "UNAVAILABLE",
      `cannot ${error instanceof PackageFileMissing ? "take" : "use"} the snapshot: ${error.message}; nothing was touched`,
      details,
      error,
    );
  }
}
