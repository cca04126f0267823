import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { NotificationFailed } from "#domain/notifications/ports.ts";

const maxBytes = 64 * 1024;

/** The refusal names the file and never what is in it. It may be mended while the service runs. */
const refused = (path: string, why: string): NotificationFailed =>
  new NotificationFailed(`cannot use ${path}: ${why}`, true);

function openFile(path: string): number {
  try {
    // A pipe in its place must not hold the service up.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw refused(path, code === "ENOENT" ? "there is no such file" : `it cannot be opened (${code})`);
  }
}

/**
 * The one line of a file that holds a secret. It is read each time that it is needed, so that a new one takes effect at once.
 * @throws NotificationFailed for a file that everybody can read, or that holds anything but one line.
 */
export function readSecretFile(path: string): string {
  const file = openFile(path);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw refused(path, "it is no file");
    if ((stat.mode & 0o007) !== 0) throw refused(path, "everybody can read or write it (chmod o-rwx it)");
    const buffer = Buffer.alloc(maxBytes + 1);
    const length = readSync(file, buffer);
    if (length > maxBytes) throw refused(path, "it is too long");
    const text = buffer.toString("utf8", 0, length).trim();
    if (text === "") throw refused(path, "it is empty");
    if (/\p{Cc}/u.test(text)) throw refused(path, "it holds more than one line");
    return text;
  } finally {
    closeSync(file);
  }
}
