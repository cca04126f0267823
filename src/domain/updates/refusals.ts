import { DomainError, invalid } from "#domain/common/error.ts";
import { PackageFileMissing, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";

export function lockedBy({ message, holder }: PackagesLocked): DomainError {
  const details = { missing: "package manager", ...(holder && { holder }), retryable: true };
  return new DomainError("UNAVAILABLE", `cannot change packages: ${message}`, details);
}

/** @param doing what was asked for, as in `cannot update`. */
export async function refusedAsInvalid<T>(work: () => Promise<T>, doing = "update"): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PackagesLocked) throw lockedBy(error);
    if (error instanceof UpdateRefused) throw invalid("packages", error.message, `cannot ${doing}: ${error.message}`);
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

/** A repository that does not answer is not an internal error. */
export function notRefreshed(error: unknown): never {
  if (error instanceof DomainError || !(error instanceof Error)) throw error;
  // The address may contain a password.
  const reason = error.message.replaceAll(/\/\/[^/@\s]*@/g, "//");
  const details = { missing: "package lists", retryable: true };
  throw new DomainError("UNAVAILABLE", `cannot bring the lists up to date: ${reason}`, details, error);
}
