/** What went wrong, in the words of whatever was thrown. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What was thrown, as an Error. */
export const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** The code that Node gave an error: of a system call (`ENOENT`, errno(3)) or its own (`ERR_INVALID_URL`). */
export const errnoCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;

/** Whether a path leads to nothing: no such entry, or what should be a directory of the path is none. */
export function isNotFound(error: unknown): boolean {
  const code = errnoCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Whether a file of a process cannot be read since the process has ended: procfs says ESRCH where it was open already. */
export const isProcessGone = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "ESRCH";

/** Whether a file of a device or control group cannot be read since it was removed: sysfs says ENODEV where it was open already. */
export const isDeviceGone = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "ENODEV";

/** Whether the system forbids it to this user. */
export function isPermissionDenied(error: unknown): boolean {
  const code = errnoCode(error);
  return code === "EACCES" || code === "EPERM";
}

/** Whether a file of a process cannot be read since the process has ended, or belongs to another user. */
export const isProcessOutOfReach = (error: unknown): boolean => isProcessGone(error) || isPermissionDenied(error);

/** What work gives; undefined where it fails, which is reported. */
export function orReport<T>(work: () => T, report: (error: unknown) => void): T | undefined {
  try {
    return work();
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** What a promise gives; undefined where it fails for a reason that is expected, which is "not found" unless given. */
export async function orUndefined<T>(
  work: Promise<T>,
  isExpected: (error: unknown) => boolean = isNotFound,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** {@link orUndefined} for work that does not wait. */
export function orUndefinedSync<T>(work: () => T, isExpected: (error: unknown) => boolean = isNotFound): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** What work gives; the other value where it fails, whatever the reason. */
export function orElse<T, Otherwise>(work: () => T, otherwise: Otherwise): T | Otherwise {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

const maxReasonLength = 200;

/** The message of an error in a bounded length, for a log line or a record; its code or name where it has no message. */
export function errorSummary(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return (error.message || (errnoCode(error) ?? error.name)).slice(0, maxReasonLength);
}

/**
 * Gives an error the path of the file that it is about, unless it names one: the errors of write(2) and fsync(2), which know
 * a number only, and those of SQLite do not. Anyone who translates the error can then say which directory is full.
 */
export function addPath(error: unknown, path: string): unknown {
  return error instanceof Error && !("path" in error) ? Object.assign(error, { path }) : error;
}
