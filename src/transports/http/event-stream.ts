import { Socket } from "node:net";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ErrorBody } from "#contract/error-body.ts";
import type { EventStream, ServerSentEvent } from "#contract/operation.ts";
import type { Clock } from "#kernel/clock.ts";

export interface EventStreamPorts {
  readonly clock: Pick<Clock, "sleep">;
  readonly toErrorBody: (error: unknown, request: FastifyRequest) => ErrorBody;
}

/** After so long without an event a comment shows that the stream is alive. */
const commentIntervalMs = 15_000;
const comment = ":\n\n";
/** Timeout of a client that reads nothing. Node restarts it once if part of the last write has left, so it may be twice as long. */
const stalledMs = 30_000;
const aheadBytes = 16 * 1024;
/** Longest stream that is recorded for a repetition of its request. */
const maxRecordedChars = 1024 * 1024;

/** JSON has no line break, so one `data` line is enough. */
export const formatEvent = ({ event, data }: { readonly event: string; readonly data: object }): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

const recordings = new WeakMap<object, Promise<string | undefined>>();

/** The text of an event stream when it has ended, undefined where it broke off or was too long; undefined for other payloads. */
export function recordingOf(payload: unknown): Promise<string | undefined> | undefined {
  return typeof payload === "object" && payload !== null ? recordings.get(payload) : undefined;
}

function createRecording() {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  let text: string | undefined = "";
  return {
    promise,
    add(part: string) {
      if (text !== undefined && text.length + part.length <= maxRecordedChars) text += part;
      else text = undefined;
    },
    end: (isWhole: boolean) => resolve(isWhole ? text : undefined),
  };
}

/**
 * Begins an answer of server-sent events: waits for the first event, which may throw as for any other answer. The body makes
 * an event when the client has read the previous ones.
 */
export async function beginEventStream(
  { events }: EventStream,
  { request, reply, ports }: { request: FastifyRequest; reply: FastifyReply; ports: EventStreamPorts },
): Promise<{ readonly body: Readable; readonly ended: Promise<void> }> {
  const { clock, toErrorBody } = ports;
  const iterator = events[Symbol.asyncIterator]();
  const first = await iterator.next();
  const ended = Promise.withResolvers<void>();
  const recording = request.headers["idempotency-key"] === undefined ? undefined : createRecording();

  /** Waits for the next event, with comments meanwhile. */
  async function* next(): AsyncGenerator<string, IteratorResult<ServerSentEvent>> {
    const coming = iterator.next();
    for (;;) {
      const over = new AbortController();
      const silence = clock.sleep(commentIntervalMs, over.signal).then(() => undefined);
      const result = await Promise.race([coming, silence]).finally(() => over.abort());
      if (result !== undefined) return result;
      yield comment;
    }
  }

  const written = (event: { readonly event: string; readonly data: object }): string => {
    const text = formatEvent(event);
    recording?.add(text);
    return text;
  };

  async function* write(): AsyncGenerator<string> {
    let isWhole = false;
    try {
      let result = first;
      while (result.done !== true) {
        yield written(result.value);
        result = yield* next();
      }
      isWhole = true;
    } catch (error) {
      yield formatEvent({ event: "error", data: toErrorBody(error, request) });
    } finally {
      recording?.end(isWhole);
      ended.resolve();
      await iterator.return?.();
    }
  }

  const { socket } = request.raw;
  if (socket instanceof Socket) socket.setTimeout(stalledMs);
  reply.header("Content-Type", "text/event-stream").header("X-Accel-Buffering", "no");
  const body = Readable.from(write(), { objectMode: false, highWaterMark: aheadBytes });
  // A generator that was never started does not run its `finally`.
  body.once("close", () => {
    recording?.end(false);
    ended.resolve();
    void iterator.return?.();
  });
  if (recording !== undefined) recordings.set(body, recording.promise);
  return { body, ended: ended.promise };
}
