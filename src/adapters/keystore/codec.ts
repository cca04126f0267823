import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";
import type { CredentialCodec } from "#domain/ports/access.ts";

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

const digestLength = 64;
const [left, right] = [Buffer.alloc(digestLength), Buffer.alloc(digestLength)];

/** `stw_<8 character id>_<43 character secret><6 character CRC32>` for keys, `stt_…` for tokens; base 62, 256 bits. */
export const credentialCodec: CredentialCodec = {
  mint(kind) {
    const id = randomText(idLength);
    const secret = randomText(secretLength);
    const body = `${prefixes[kind]}_${id}_${secret}`;
    return { text: body + checksum(body), id, digest: digestOf(secret) };
  },
  parse(text) {
    const match = shape.exec(text);
    if (match === null) return undefined;
    const [, prefix, id, secret, sum] = match;
    if (prefix === undefined || id === undefined || secret === undefined) return undefined;
    if (checksum(`${prefix}_${id}_${secret}`) !== sum) return undefined;
    return { kind: prefix === prefixes.key ? "key" : "token", id, digest: digestOf(secret) };
  },
  sameDigest(a, b) {
    if (a.length !== digestLength || b.length !== digestLength) return false;
    left.write(a, "latin1");
    right.write(b, "latin1");
    return timingSafeEqual(left, right);
  },
};
