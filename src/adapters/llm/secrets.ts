import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";

/** Where the key of a connector is. */
export interface KeySource {
  readonly from: "environment" | "file" | "credential";
  /** Of the variable or the credential; of a file its path. */
  readonly name: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;
export type Key = { readonly key: string } | { readonly missing: string };

const maxBytes = 64 * 1024;

/** A key goes into a header, where spaces, line ends and other alphabets have no place. */
function checked(text: string, where: string): Key {
  const key = text.trim();
  if (key === "") return { missing: `${where} is empty` };
  return /^[\x21-\x7e]+$/.test(key) ? { key } : { missing: `${where} holds characters that no key has` };
}

/** @param isPrivate whether it is enough that the file is readable: who else may read it is systemd's to say. */
function readKeyFile(path: string, isPrivate: boolean): Key {
  // A pipe in its place must not hold the service up.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return { missing: `cannot use ${path}: it is no file` };
    if (!isPrivate && (stat.mode & 0o007) !== 0) {
      return { missing: `cannot use ${path}: everybody can read or write this key (chmod o-rwx it)` };
    }
    const buffer = Buffer.alloc(maxBytes + 1);
    const length = readSync(file, buffer);
    if (length > maxBytes) return { missing: `cannot use ${path}: it is too long for a key` };
    return checked(buffer.toString("utf8", 0, length), path);
  } finally {
    closeSync(file);
  }
}

function tryKeyFile(path: string, isPrivate: boolean): Key {
  try {
    return readKeyFile(path, isPrivate);
  } catch (error) {
    return { missing: `cannot read ${path}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** The key, or why there is none; never a part of it. */
export function readKey({ from, name }: KeySource, environment: Environment): Key {
  if (from === "file") return tryKeyFile(name, false);
  if (from === "environment") {
    const text = environment[name];
    return text === undefined ? { missing: `${name} is not set` } : checked(text, name);
  }
  const folder = environment["CREDENTIALS_DIRECTORY"];
  if (folder === undefined) {
    return { missing: `systemd passed no credentials: the unit needs LoadCredential=${name}` };
  }
  return tryKeyFile(join(folder, name), true);
}
