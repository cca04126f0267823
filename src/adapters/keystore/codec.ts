import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import type { CredentialCodec, CredentialKind, PresentedCredential } from "#domain/ports/access.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const idLength = 8;
const secretLength = 43;
const checksumLength = 6;

const prefixes = {
  key: "stw",
  token: "stt",
  cookie: "sth",
  session: "sts",
  code: "stc",
  ticket: "stk",
} as const satisfies Record<CredentialKind, string>;
const kinds = Object.fromEntries(Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind])) as Readonly<
  Record<string, CredentialKind>
>;
const shape = new RegExp(
  `^(st[wthsck])_([0-9A-Za-z]{${idLength}})_([0-9A-Za-z]{${secretLength}})([0-9A-Za-z]{${checksumLength}})$`,
);

/** Bytes at or above this would make the first letters of the alphabet likelier than the rest. */
const fairBytes = 256 - (256 % alphabet.length);

function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < fairBytes && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

/** A CRC distinguishes a mistyped key from a wrong one, for people and for scanners that look for leaked keys. */
function checksum(text: string): string {
  let value = crc32(text);
  let encoded = "";
  for (let index = 0; index < checksumLength; index += 1) {
    encoded = alphabet.charAt(value % alphabet.length) + encoded;
    value = Math.floor(value / alphabet.length);
  }
  return encoded;
}

/** As text: a Buffer for each request is memory outside the heap for each request, which costs more than the hash. */
const digestOf = (secret: string): string => hash("sha256", secret, "hex");

const digestLength = 64;
/** Compared where there is nothing, so that both cases take the same time. */
const noDigest = "0".repeat(digestLength);
const [left, right] = [Buffer.alloc(digestLength), Buffer.alloc(digestLength)];

/** Compares digests in constant time. */
function sameDigest(a: string, b: string): boolean {
  if (a.length !== digestLength || b.length !== digestLength) return false;
  left.write(a, "latin1");
  right.write(b, "latin1");
  return timingSafeEqual(left, right);
}

/** What was found to have which digest: connections send the same credential with each request. */
const proven = new WeakMap<PresentedCredential, string>();

const textLength = `${prefixes.key}__`.length + idLength + secretLength + checksumLength;
const textBytes = Buffer.alloc(textLength);

/** Compares a credential with one that was sent before, in constant time. */
function sameText(before: Buffer, text: string): boolean {
  if (text.length !== textLength) return false;
  textBytes.write(text, "latin1");
  return timingSafeEqual(before, textBytes);
}

interface Seen {
  readonly bytes: Buffer;
  readonly presented: PresentedCredential;
}
/** By sender and kind: a session has two halves. */
const lastOf = new WeakMap<object, Partial<Record<CredentialKind, Seen>>>();

function parse(text: string): PresentedCredential | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const [, prefix, id, secret, sum] = match;
  if (prefix === undefined || id === undefined || secret === undefined) return undefined;
  if (checksum(`${prefix}_${id}_${secret}`) !== sum) return undefined;
  const kind = kinds[prefix];
  return kind && { kind, id, digest: digestOf(secret) };
}

/** `stw_<8 character id>_<43 character secret><6 character CRC32>` for keys, others in the same form; base 62, 256 bits. */
export const credentialCodec: CredentialCodec = {
  mint(kind, id = randomText(idLength)) {
    const secret = randomText(secretLength);
    const body = `${prefixes[kind]}_${id}_${secret}`;
    return { text: body + checksum(body), id, digest: digestOf(secret) };
  },
  parse(text, sender) {
    if (sender === undefined) return parse(text);
    const kind = kinds[text.slice(0, prefixes.key.length)];
    if (kind === undefined) return undefined;
    const seen = lastOf.get(sender);
    const last = seen?.[kind];
    // Clients of one proxy share a connection, so what the one before sent is not to be found out either.
    if (last !== undefined && sameText(last.bytes, text)) return last.presented;
    const presented = parse(text);
    if (presented === undefined) return undefined;
    const sent = { bytes: Buffer.from(text, "latin1"), presented };
    if (seen === undefined) lastOf.set(sender, { [kind]: sent });
    else seen[kind] = sent;
    return presented;
  },
  proves(presented, digest) {
    if (presented !== undefined && digest !== undefined && proven.get(presented) === digest) return true;
    const isSame = sameDigest(presented?.digest ?? noDigest, digest ?? noDigest);
    if (!isSame || presented === undefined || digest === undefined) return false;
    proven.set(presented, digest);
    return true;
  },
};
