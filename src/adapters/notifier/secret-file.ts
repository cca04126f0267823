import { readRegularFile, readSecretFile } from "#adapters/files/index.ts";
import { NotificationFailed } from "#domain/ports/notifications.ts";
import { errorMessage } from "#kernel/errors.ts";

/** The refusal names the file and never what is in it. The file may be corrected while the service runs. */
function orFailed<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new NotificationFailed(`cannot use ${path}: ${errorMessage(error)}`, true);
  }
}

/**
 * Reads the one line of a file that holds a secret. It is read each time that it is needed, so that a new one takes effect at once.
 * @throws NotificationFailed for a file that everybody can read, or that holds anything but one line.
 */
export const readSecret = (path: string): string => orFailed(path, () => readSecretFile(path));

export const readCaFile = (path: string): string =>
  orFailed(path, () => readRegularFile(path).content.toString("utf8"));
