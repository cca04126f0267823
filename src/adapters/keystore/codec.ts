import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import type { CredentialCodec, PresentedCredential } from "#domain/ports/access.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const idLength = 8;
const secretLength = 43;
const checksumLength = 6;

const prefixes = { key: "stw", token: "stt" } as const;
const shape = new RegExp(
  `^(stw|stt)_([0-9A-Za-z]{${idLength}})_([0-9A-Za-z]{${secretLength}})([0-9A-Za-z]{${checksumLength}})$`,
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

/** A CRC tells a mistyped key from a wrong one, for people and for scanners that look for leaked keys. */
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

/** Compares texts of one length in constant time. */
function comparer(length: number): (a: string, b: string) => boolean {
  const [left, right] = [Buffer.alloc(length), Buffer.alloc(length)];
  return (a, b) => {
    if (a.length !== length || b.length !== length) return false;
    left.write(a, "latin1");
    right.write(b, "latin1");
    return timingSafeEqual(left, right);
  };
}

const sameDigest = comparer(64);
const sameText = comparer(`${prefixes.key}__`.length + idLength + secretLength + checksumLength);
const lastOf = new WeakMap<object, { readonly text: string; readonly presented: PresentedCredential }>();

function parse(text: string): PresentedCredential | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const [, prefix, id, secret, sum] = match;
  if (prefix === undefined || id === undefined || secret === undefined) return undefined;
  if (checksum(`${prefix}_${id}_${secret}`) !== sum) return undefined;
  return { kind: prefix === prefixes.key ? "key" : "token", id, digest: digestOf(secret) };
}

/** `stw_<8 character id>_<43 character secret><6 character CRC32>` for keys, `stt_…` for tokens; base 62, 256 bits. */
export const credentialCodec: CredentialCodec = {
  mint(kind) {
    const id = randomText(idLength);
    const secret = randomText(secretLength);
    const body = `${prefixes[kind]}_${id}_${secret}`;
    return { text: body + checksum(body), id, digest: digestOf(secret) };
  },
  parse(text, sender) {
    const last = sender && lastOf.get(sender);
    // Clients of one proxy share a connection, so what the one before sent is not to be found out either.
    if (last !== undefined && sameText(last.text, text)) return last.presented;
    const presented = parse(text);
    if (sender !== undefined && presented !== undefined) lastOf.set(sender, { text, presented });
    return presented;
  },
  sameDigest,
};
