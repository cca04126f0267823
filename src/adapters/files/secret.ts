import { isOpenToEverybody } from "./mode.ts";
import { FileUnreadable, readRegularFile } from "./regular-file.ts";

const maxBytes = 64 * 1024;

/**
 * Reads the one line of a file that holds a secret, without the space around it.
 * @param options.isGuarded whether somebody else decides who may read the file, as systemd does for its credentials.
 * @throws FileUnreadable when everybody can read the file, or it holds anything but one line; never with a part of the secret.
 */
export function readSecretFile(path: string, options: { readonly isGuarded?: boolean } = {}): string {
  const file = readRegularFile(path, { maxBytes });
  if (options.isGuarded !== true && isOpenToEverybody(file.stat)) {
    throw new FileUnreadable("everybody can read or write it (chmod o-rwx it)");
  }
  const text = file.content.toString("utf8").trim();
  if (text === "") throw new FileUnreadable("it is empty");
  if (/\p{Cc}/u.test(text)) throw new FileUnreadable("it holds more than one line");
  return text;
}
