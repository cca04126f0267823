import { createHash } from "node:crypto";
import type { AuthorizedKey } from "#domain/ports/accounts.ts";

const mostKeys = 100;
const mostCommentChars = 200;
const mostOptionChars = 64;
const mostOptions = 32;

/** Fixed lengths, by the name of the type. */
const knownBits: Readonly<Record<string, number>> = {
  "ssh-ed25519": 256,
  "sk-ssh-ed25519@openssh.com": 256,
  "ecdsa-sha2-nistp256": 256,
  "sk-ecdsa-sha2-nistp256@openssh.com": 256,
  "ecdsa-sha2-nistp384": 384,
  "ecdsa-sha2-nistp521": 521,
};

/** The fields of a public key (RFC 4253, section 6.6): each a length of four bytes and as many bytes. */
function fieldsOf(blob: Buffer): readonly Buffer[] | undefined {
  const fields: Buffer[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return undefined;
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) return undefined;
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

/** Bits of a positive number, which has a byte of zeros before it where its first bit is set. */
function bitsOf(number: Buffer | undefined): number | null {
  const first = number?.findIndex((byte) => byte !== 0) ?? -1;
  if (number === undefined || first < 0) return null;
  return (number.length - first) * 8 - (Math.clz32(number[first] ?? 0) - 24);
}

function lengthOf(type: string, fields: readonly Buffer[]): number | null {
  if (type === "ssh-rsa") return bitsOf(fields[2]);
  if (type === "ssh-dss") return bitsOf(fields[1]);
  return Object.hasOwn(knownBits, type) ? (knownBits[type] ?? null) : null;
}

/** The end of the options: the first space that is not in quotes. */
function endOfOptions(line: string): number {
  let isQuoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const each = line.charAt(at);
    if (each === "\\" && line.charAt(at + 1) === '"') at += 1;
    else if (each === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (each === " " || each === "\t")) return at;
  }
  return line.length;
}

const optionNames = (text: string): readonly string[] =>
  text
    .replaceAll(/"(?:\\"|[^"])*"?/g, "")
    .split(",")
    .map((option) => option.replace(/=.*$/s, "").slice(0, mostOptionChars))
    .filter((name) => /^[A-Za-z-]+$/.test(name))
    .slice(0, mostOptions);

const keyWords = /^([a-z0-9][a-z0-9@.-]{2,63})[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]+(.*))?$/s;

function readKey(text: string, options: readonly string[]): AuthorizedKey | undefined {
  const [, type, base64, comment = ""] = keyWords.exec(text) ?? [];
  if (type === undefined || base64 === undefined) return undefined;
  const blob = Buffer.from(base64, "base64");
  const fields = fieldsOf(blob);
  if (fields?.[0]?.toString("latin1") !== type) return undefined;
  const digest = createHash("sha256").update(blob).digest("base64").replace(/=+$/, "");
  return {
    type,
    bits: lengthOf(type, fields),
    fingerprint: `SHA256:${digest}`,
    comment: comment
      .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
      .trim()
      .slice(0, mostCommentChars),
    options,
  };
}

/** Reads authorized_keys (sshd(8)). What is not a key is left out, whatever it is. */
export function parseAuthorizedKeys(text: string): readonly AuthorizedKey[] {
  const keys: AuthorizedKey[] = [];
  for (const raw of text.split("\n")) {
    if (keys.length === mostKeys) break;
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const end = endOfOptions(line);
    const key = readKey(line, []) ?? readKey(line.slice(end).trimStart(), optionNames(line.slice(0, end)));
    if (key !== undefined) keys.push(key);
  }
  return keys;
}
