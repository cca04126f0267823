import { createHash, randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";

/** RFC 9110 §8.8.3. A tag may contain commas. */
const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;
const wholeList = /^[ \t,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[ \t]*(?:,[ \t,]*|$))+$/;

/**
 * Whether the client has this version already (RFC 9110 §13.1.2). The comparison is weak. A malformed header is ignored.
 * @param header the value of `If-None-Match`.
 * @param current the tag of the answer, with its quotes.
 */
export function isNotModified(header: string | undefined, current: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  if (!wholeList.test(header)) return false;
  const opaque = current.replace(/^W\//, "");
  return [...header.matchAll(entityTag)].some(([, tag]) => tag === opaque);
}

/** The `Cache-Control` of an answer with a version, in place of `no-store`: anyone who keeps it asks each time whether it is still right. */
export const revalidate = "private, no-cache";

/** 128 bits of a digest are enough to distinguish versions. */
const tagChars = 22;

/** A weak tag (RFC 9110 §8.8.1): one content has several forms, one for each coding. */
export const weakTag = (content: string | Buffer): string =>
  `W/"${createHash("sha256").update(content).digest("base64url").slice(0, tagChars)}"`;

export type EntityTags = ReturnType<typeof createEntityTags>;

/**
 * Tags of versioned answers. They are of this process: objects are numbered, and the next process numbers others. Callers with
 * other scopes have other tags, since they may see something else.
 */
export function createEntityTags() {
  const process = randomBytes(12).toString("base64url");
  const numbers = new WeakMap<object, number>();
  let last = 0;

  const nameOf = (part: unknown): string => {
    if (typeof part !== "object" || part === null) return JSON.stringify(part) ?? "";
    let number = numbers.get(part);
    if (number === undefined) {
      last += 1;
      number = last;
      numbers.set(part, number);
    }
    return `#${number}`;
  };

  return {
    /** @param parts the objects and values that the answer is made of. */
    of({ url, record }: FastifyRequest, parts: readonly unknown[]): string {
      const scopes = [...(record.caller?.scopes ?? [])].sort();
      return weakTag([process, url, JSON.stringify(scopes), ...parts.map(nameOf)].join("\n"));
    },
  };
}
