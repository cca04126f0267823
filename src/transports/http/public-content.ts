import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Coding, compress, negotiateCoding, slicesOf } from "./compression.ts";
import { isNotModified, weakTag } from "./entity-tags.ts";

/** Content that is the same for everybody, made at first use and shared by all requests. */
interface Content {
  readonly bytes: Buffer;
  readonly tag: string;
  readonly encoded: Map<Coding, Promise<Buffer>>;
}

const sliceBytes = 64 * 1024;
const notModified = 304;

const toContent = (bytes: Buffer): Content => ({
  bytes,
  tag: weakTag(bytes),
  encoded: new Map(),
});

/** The bytes in this coding, made once. What cannot be made is tried again by the next request. */
async function encodedOf({ bytes, encoded }: Content, coding: Coding): Promise<Buffer> {
  const made = encoded.get(coding) ?? compress(coding, bytes);
  encoded.set(coding, made);
  try {
    return await made;
  } catch (error) {
    encoded.delete(coding);
    throw error;
  }
}

/** Sends in slices, so that thousands of clients that never read do not each have a copy in memory. */
function sendSlices(reply: FastifyReply, bytes: Buffer): FastifyReply {
  reply.header("Content-Length", bytes.length);
  return reply.send(Readable.from(slicesOf(bytes, sliceBytes), { objectMode: false, highWaterMark: sliceBytes }));
}

/** A handler that answers with public content: compressed where the client asks for it, and 304 to clients that have it. */
export function servePublic(make: () => Buffer) {
  let content: Content | undefined;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    content ??= toContent(make());
    const { bytes, tag } = content;
    const isKnown = isNotModified(request.headers["if-none-match"], tag);
    const coding = negotiateCoding(request, reply);
    const sent = isKnown || coding === undefined ? bytes : await encodedOf(content, coding);
    reply.header("ETag", tag).header("Cache-Control", "no-cache");
    if (isKnown) return reply.code(notModified).removeHeader("content-type").send();
    if (coding !== undefined) reply.header("Content-Encoding", coding);
    return sendSlices(reply, sent);
  };
}
