import { Readable, pipeline as streaming } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress, createGzip, createZstdCompress } from "node:zlib";
import type { FastifyReply, FastifyRequest, onSendHookHandler } from "fastify";
import { isErrorStatus } from "#contract/errors.ts";
import { createFairQueue, type FairQueue } from "#kernel/fair-queue.ts";

/** Content codings (RFC 9110 §8.4.1), in the order of our preference. */
export const codings = ["zstd", "br", "gzip"] as const;
export type Coding = (typeof codings)[number];

const identity = "identity";
const element = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/** Weights by name, which is `*` for all others. A name that is given twice has its last weight; malformed elements are ignored. */
function parseWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const each of header.toLowerCase().split(",")) {
    const match = element.exec(each.trim());
    // The alias of RFC 9110 §8.4.1.3.
    if (match?.[1] !== undefined)
      weights.set(match[1] === "x-gzip" ? "gzip" : match[1], Number.parseFloat(match[2] ?? "1"));
  }
  return weights;
}

/**
 * The coding that the client prefers (RFC 9110 §12.5.3), and of several that it likes as much ours. Undefined: the answer is
 * sent as it is, also where the client accepts nothing at all.
 * @param header the value of `Accept-Encoding`; without it nobody has asked for a coding.
 * @param available the codings that there are, in the order of preference.
 */
export function chooseCoding<C extends Coding = Coding>(
  header: string | readonly string[] | undefined,
  available: readonly C[] = codings as readonly Coding[] as readonly C[],
): C | undefined {
  if (header === undefined || header === "") return undefined;
  const weights = parseWeights(typeof header === "string" ? header : header.join(","));
  const weightOf = (name: string): number => weights.get(name) ?? weights.get("*") ?? 0;
  const best = available.reduce((one, other) => (weightOf(other) > weightOf(one) ? other : one));
  const isPreferred = weightOf(best) > 0 && weightOf(best) >= (weights.get(identity) ?? 0);
  return isPreferred ? best : undefined;
}

/** What is smaller leaves in one packet anyway. */
const fewestBytes = 1024;
/** As much is compressed between two looks at whether the client is still there. */
const sliceBytes = 256 * 1024;
const chunkSize = 64 * 1024;

/** Levels at which a link of 100 Mbit/s is slower than the compressor (docs/adr/0053). */
const encoders = {
  zstd: () => createZstdCompress({ chunkSize, params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: () => createBrotliCompress({ chunkSize, params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: () => createGzip({ chunkSize, level: 1 }),
} as const satisfies Record<Coding, unknown>;

export function* slicesOf(content: Buffer, bytes = sliceBytes): Generator<Buffer> {
  for (let at = 0; at < content.length; at += bytes) yield content.subarray(at, at + bytes);
}

/** Compresses in the threads of Node. @throws AbortError when the signal fires. */
export async function compress(coding: Coding, content: Buffer, signal?: AbortSignal): Promise<Buffer> {
  const parts: Buffer[] = [];
  const keep = async (output: AsyncIterable<Buffer>): Promise<void> => {
    for await (const part of output) parts.push(part);
  };
  await pipeline(slicesOf(content), encoders[coding](), keep, { ...(signal && { signal }) });
  return Buffer.concat(parts);
}

/** Adds a field to `Vary`, whose other members stay. */
export function addVary(reply: FastifyReply, field: string): void {
  const before = reply.getHeader("vary");
  if (before === undefined) reply.header("vary", field);
  else if (!String(before).split(", ").includes(field)) reply.header("vary", `${String(before)}, ${field}`);
}

/** Says that the answer depends on `Accept-Encoding`. @returns the coding to send it in, undefined for as it is. */
export function negotiateCoding<C extends Coding = Coding>(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  available?: readonly C[],
): C | undefined {
  addVary(reply, "Accept-Encoding");
  return chooseCoding<C>(headers["accept-encoding"], available);
}

/**
 * How many answers are compressed at once, in all and of one key. Node has four threads, and files need them too; where a key
 * has many waiting, the next ones leave uncompressed.
 */
const limits = { atOnce: 2, atOncePerOwner: 2, waitingPerOwner: 16 };

const isContent = (payload: unknown): payload is string | Buffer =>
  typeof payload === "string" || Buffer.isBuffer(payload);

/** From now on the memory of the answer is released by the caller alone, not when an answer has left. */
function takeRelease({ record }: FastifyRequest): () => void {
  const { release } = record;
  record.release = undefined;
  return () => release?.();
}

async function encode(
  content: Buffer,
  coding: Coding,
  {
    request,
    reply,
    queue,
  }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly queue: FairQueue },
): Promise<Buffer> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  reply.raw.once("close", leave);
  const work = async (): Promise<Buffer> => {
    // Not while a thread reads it, as when another answer leaves meanwhile.
    const release = takeRelease(request);
    const encoded = await compress(coding, content, gone.signal);
    release();
    return encoded;
  };
  try {
    const { caller, remoteAddress } = request.record;
    return await queue(caller?.keyId ?? remoteAddress ?? "", work, gone.signal);
  } finally {
    reply.raw.off("close", leave);
  }
}

/** Compresses a stream as it is read; it breaks where the stream does. */
function encodeStream(stream: Readable, request: FastifyRequest, reply: FastifyReply): Readable {
  const coding = negotiateCoding(request, reply);
  if (coding === undefined) return stream;
  reply.header("content-encoding", coding);
  // Each ends with the other; anyone who sends the answer notices.
  return streaming(stream, encoders[coding](), () => undefined);
}

/** The hook that compresses answers as their clients ask. Errors stay as they are: they repeat what the caller sent. */
export function createCompression(): onSendHookHandler {
  const queue = createFairQueue(limits);
  return (request, reply, payload, done) => {
    if (payload instanceof Readable) return done(null, encodeStream(payload, request, reply));
    const isMeant = isContent(payload) && payload.length >= fewestBytes && !isErrorStatus(reply.statusCode);
    if (!isMeant || reply.raw.destroyed) return done(null, payload);
    const coding = negotiateCoding(request, reply);
    if (coding === undefined) return done(null, payload);
    const content = typeof payload === "string" ? Buffer.from(payload) : payload;
    const send = (encoded: Buffer | undefined): void => {
      // Another answer has left instead: this one took too long.
      if (reply.raw.headersSent) return;
      if (encoded !== undefined) reply.header("content-encoding", coding);
      done(null, encoded ?? payload);
    };
    encode(content, coding, { request, reply, queue }).then(send, () => send(undefined));
  };
}
