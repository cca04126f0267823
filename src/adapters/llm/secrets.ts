import { join } from "node:path";
import { readSecretFile } from "#adapters/files/index.ts";
import { errorMessage, orElse } from "#kernel/errors.ts";

export interface KeySource {
  readonly from: "environment" | "file" | "credential";
  readonly name: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;
export type Key = { readonly key: string } | { readonly missing: string };

/** A key goes into a header, where spaces, line ends and other alphabets have no place. */
function checked(text: string, where: string): Key {
  const key = text.trim();
  if (key === "") return { missing: `${where} is empty` };
  return /^[\x21-\x7e]+$/.test(key)
    ? { key }
    : { missing: `${where} contains characters that are not allowed in a key` };
}

function readKeyFile(path: string, isGuarded: boolean): Key {
  try {
    return checked(readSecretFile(path, { isGuarded }), path);
  } catch (error) {
    return { missing: `cannot use ${path}: ${errorMessage(error)}` };
  }
}

export function readKey({ from, name }: KeySource, environment: Environment): Key {
  if (from === "file") return readKeyFile(name, false);
  if (from === "environment") {
    const text = environment[name];
    return text === undefined ? { missing: `${name} is not set` } : checked(text, name);
  }
  const directory = environment["CREDENTIALS_DIRECTORY"];
  if (directory === undefined) {
    return { missing: `systemd passed no credentials: the unit needs LoadCredential=${name}` };
  }
  return readKeyFile(join(directory, name), true);
}

const decoded = (text: string): string => orElse(() => decodeURIComponent(text), text);

export function readAddress(text: string, path: string) {
  const url = new URL(text);
  const given = [url.username, url.password].map(decoded);
  const hasCredentials = given.some((each) => each !== "");
  const basic = Buffer.from(given.join(":")).toString("base64");
  const { pathname } = url;
  const rest = pathname === "/" ? path : pathname.replace(/\/+$/, "");
  return {
    baseUrl: `${url.protocol}//${url.host}${rest}`,
    host: url.host,
    headers: hasCredentials ? { authorization: `Basic ${basic}` } : {},
    secrets: hasCredentials ? [...given.filter((each) => each !== ""), basic] : [],
  };
}
