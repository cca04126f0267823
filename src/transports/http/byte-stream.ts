import { Socket } from "node:net";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ByteStream, Caller } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import { slicesOf } from "./compression.ts";
import type { EventStreamPorts } from "./event-stream.ts";

export interface ByteStreamPorts extends Pick<EventStreamPorts, "toErrorBody"> {
  /** Whether a credential is no longer good. */
  readonly hasEnded: (caller: Caller) => boolean;
  readonly log: { readonly warn: (data: object, message: string) => void };
}

/** Timeout of a client that reads nothing. Each slice that leaves restarts it, so a slow one may continue. */
const stalledMs = 30_000;
const sliceBytes = 64 * 1024;

/** @throws DomainError over HTTP/1.0, as some proxies speak it: an answer that was broken off would look complete there. */
function refuseUnframed({ raw: { httpVersion } }: FastifyRequest): void {
  if (httpVersion !== "1.0") return;
  throw new DomainError(
    "VALIDATION_ERROR",
    "cannot answer over HTTP/1.0: an answer that is broken off would look complete (nginx: proxy_http_version 1.1)",
    { field: "HTTP", issue: "Must be version 1.1" },
  );
}

/**
 * Begins an answer of any length: waits for its first part, which may throw as for any other answer. The body makes a part while the
 * client reads the previous one, and is destroyed with whatever a later part throws.
 */
export async function beginByteStream(
  { mediaType, parts, headers }: ByteStream,
  { request, reply, ports }: { request: FastifyRequest; reply: FastifyReply; ports: ByteStreamPorts },
): Promise<{ readonly body: Readable; readonly ended: Promise<void> }> {
  refuseUnframed(request);
  const iterator = parts[Symbol.asyncIterator]();
  const first = await iterator.next();
  const ended = Promise.withResolvers<void>();
  const { socket } = request.raw;
  const { caller } = request.record;
  /** While a part is made nothing has to leave; the client may wait as long as that takes. */
  const expectReader = (isExpected: boolean): void => {
    if (socket instanceof Socket) socket.setTimeout(isExpected ? stalledMs : 0);
  };

  async function* write(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    try {
      for (let part = first; part.done !== true; ) {
        // Made while this one is on its way.
        const coming = iterator.next();
        coming.catch(() => undefined);
        if (caller !== undefined && ports.hasEnded(caller))
          throw new DomainError("UNAUTHORIZED", "cannot continue: the credential has been revoked, or has expired");
        expectReader(true);
        for (const slice of slicesOf(
          Buffer.from(part.value.buffer, part.value.byteOffset, part.value.length),
          sliceBytes,
        )) {
          sent += slice.length;
          yield slice;
        }
        expectReader(false);
        part = await coming;
      }
      expectReader(true);
    } catch (error) {
      const { error: why } = ports.toErrorBody(error, request);
      ports.log.warn({ request_id: request.id, reason: why.message, bytes: sent }, "answer aborted");
      throw error;
    }
  }

  reply.headers({ ...headers(), "Content-Type": mediaType });
  const body = Readable.from(write(), { objectMode: false, highWaterMark: sliceBytes });
  // A generator that was never started does not run its `finally`.
  body.once("close", () => {
    ended.resolve();
    void iterator.return?.();
  });
  return { body, ended: ended.promise };
}
