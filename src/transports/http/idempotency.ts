import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest, onSendHookHandler, preHandlerAsyncHookHandler } from "fastify";
import type { ErrorBody, ErrorCode } from "#contract/errors.ts";
import { errorStatus, isErrorStatus } from "#contract/errors.ts";
import type { Caller } from "#contract/operation.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorBody } from "./error-reply.ts";
import { recordingOf } from "./event-stream.ts";
import { type Answer, isDryRun, type RequestRecord } from "./request-record.ts";

/** The first answer to a request. */
export interface KeptAnswer {
  /** See {@link repetitionId}. */
  readonly id: string;
  /** Digest of method, address and body. */
  readonly fingerprint: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly answer: Answer;
}

/** Where answers outlive the service. */
export interface AnswerFiles {
  readonly load: () => readonly KeptAnswer[];
  readonly save: (kept: KeptAnswer) => void;
  readonly remove: (id: string) => void;
}

export interface IdempotencyPorts {
  readonly clock: Pick<Clock, "now">;
  /** Undefined: answers are in memory alone. */
  readonly files?: AnswerFiles;
  readonly onTrouble: (error: unknown) => void;
  readonly limits?: { readonly answers: number; readonly bytes: number };
}

type Turn =
  | { readonly kind: "replay"; readonly answer: Answer }
  | {
      readonly kind: "first";
      /** Ends the turn, with what is to be kept. */
      readonly end: (answer: Answer | undefined) => void;
    };

const keptForMs = 24 * 60 * 60 * 1000;
const defaultLimits = { answers: 10_000, bytes: 32 * 1024 * 1024 };
/** What an answer takes beside its body. */
const overheadBytes = 512;

const form = /^[\x20-\x7e]{1,255}$/;

/** Checks the value of `Idempotency-Key`. @throws DomainError `VALIDATION_ERROR`. */
export function parseIdempotencyKey(header: string | readonly string[]): string {
  const text = typeof header === "string" ? header : header.join(", ");
  if (!form.test(text)) throw invalid("Idempotency-Key", "Must be 1 to 255 printable ASCII characters");
  return text;
}

const digestOf = (parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url");

/**
 * What a request and its repetitions share: the idempotency key, and a caller with the same rights. A key, its certificate and
 * its tokens with all of its scopes are one caller, so that a client whose token has ended repeats with the next one; a
 * credential with other scopes is another caller, and never gets an answer that was given to this one.
 */
export const repetitionId = ({ keyId, scopes }: Pick<Caller, "keyId" | "scopes">, idempotencyKey: string): string =>
  digestOf([idempotencyKey, keyId, ...[...new Set(scopes)].sort()]);

/** Refusals that say nothing about the request itself: the next time they may be different. */
const passing: readonly ErrorCode[] = ["UNAUTHORIZED", "FORBIDDEN", "CONFLICT", "RATE_LIMITED"];
const isKept = (status: number): boolean =>
  !isErrorStatus(status) ||
  (status < errorStatus.INTERNAL_ERROR && !passing.some((code) => errorStatus[code] === status));

/** First answers by idempotency key, for a day; bounded in number and bytes, the oldest go first. */
export function createIdempotency({ clock, files, onTrouble, limits = defaultLimits }: IdempotencyPorts) {
  /** Oldest first. */
  const kept = new Map<string, KeptAnswer>();
  const running = new Map<string, { readonly fingerprint: string; readonly ended: Promise<void> }>();
  let bytes = 0;

  const sizeOf = ({ answer }: KeptAnswer): number => answer.body.length + overheadBytes;
  const onDisk = (work: (files: AnswerFiles) => void): void => {
    try {
      if (files !== undefined) work(files);
    } catch (error) {
      onTrouble(error);
    }
  };
  const forget = (each: KeptAnswer): void => {
    kept.delete(each.id);
    bytes -= sizeOf(each);
    onDisk((disk) => disk.remove(each.id));
  };
  const add = (each: KeptAnswer): void => {
    kept.set(each.id, each);
    bytes += sizeOf(each);
    for (const oldest of kept.values()) {
      const isOver = kept.size > limits.answers || bytes > limits.bytes;
      if (!isOver && clock.now() - oldest.at < keptForMs) break;
      forget(oldest);
    }
  };
  onDisk((disk) => {
    for (const each of [...disk.load()].sort((a, b) => a.at - b.at)) add(each);
  });

  const refuseOther = (expected: string, fingerprint: string): void => {
    if (expected !== fingerprint) throw invalid("Idempotency-Key", "Belongs to another request");
  };

  const begin = (id: string, fingerprint: string): Turn => {
    const { promise, resolve } = Promise.withResolvers<void>();
    running.set(id, { fingerprint, ended: promise });
    let isEnded = false;
    return {
      kind: "first",
      end(answer) {
        if (isEnded) return;
        isEnded = true;
        running.delete(id);
        if (answer !== undefined) {
          const each = { id, fingerprint, at: clock.now(), answer };
          add(each);
          if (kept.has(id)) onDisk((disk) => disk.save(each));
        }
        resolve();
      },
    };
  };

  return {
    /**
     * The first answer where there is one, once it is there; else the turn to make it.
     * @throws DomainError `VALIDATION_ERROR` when the key belongs to another request, `UNAVAILABLE` when the signal fires
     * before the first answer is there.
     */
    async take(
      { id, request }: { readonly id: string; readonly request: readonly string[] },
      signal: AbortSignal,
    ): Promise<Turn> {
      const fingerprint = digestOf(request);
      for (;;) {
        const first = kept.get(id);
        if (first !== undefined && clock.now() - first.at < keptForMs) {
          refuseOther(first.fingerprint, fingerprint);
          return { kind: "replay", answer: first.answer };
        }
        if (first !== undefined) forget(first);
        const other = running.get(id);
        if (other === undefined) return begin(id, fingerprint);
        refuseOther(other.fingerprint, fingerprint);
        await other.ended;
        // Nobody is there any more to want the answer, so nothing is done for it.
        if (signal.aborted) throw new DomainError("UNAVAILABLE", "cannot answer: the client has gone");
      }
    },
  };
}

export type Idempotency = ReturnType<typeof createIdempotency>;

/** What of an answer's headers belongs to it, and not to the request that it was given to. */
const keptHeaders = ["content-type", "location", "preference-applied", "pragma", "x-accel-buffering"];
const replayedHeader = "Idempotent-Replayed";

function answerOf(reply: FastifyReply, payload: unknown): Answer | undefined {
  const body = Buffer.isBuffer(payload) ? payload.toString("utf8") : payload;
  // A stream that broke off, or was too long to be kept.
  if (typeof body !== "string") return undefined;
  const headers = keptHeaders.flatMap((name) => {
    const value = reply.getHeader(name);
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return { status: reply.statusCode, headers: Object.fromEntries(headers), body };
}

const withheldMessage =
  "cannot repeat the answer: the first call with this Idempotency-Key succeeded, and the secret that it made is shown once (`details.made` says what it made; to make another, call with another Idempotency-Key)";

/** What is kept of an answer. A secret is not: the refusal that a repetition gets takes its place. */
function keptOf(request: FastifyRequest, answer: Answer | undefined): Answer | undefined {
  const isSecret = request.record.route?.audit?.operation.answerIsSecret === true && !isDryRun(request);
  if (answer === undefined || !isKept(answer.status)) return undefined;
  if (!isSecret || isErrorStatus(answer.status)) return answer;
  const body = errorBody("CONFLICT", withheldMessage, { made: request.record.touched ?? {}, retryable: false });
  return {
    status: errorStatus.CONFLICT,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify(body),
  };
}

/** The error that a kept answer reports, for the log and the audit log. */
function errorOf({ status, body }: Answer): RequestRecord["error"] {
  if (!isErrorStatus(status)) return undefined;
  const { error }: Partial<ErrorBody> = JSON.parse(body);
  return error && { code: error.code, field: error.details?.field };
}

/** What gives `Idempotency-Key` its meaning on a POST. */
export interface IdempotencyHooks {
  /** Answers a repetition with the first answer. */
  readonly replay: preHandlerAsyncHookHandler;
  /** Keeps the first answer. */
  readonly keep: onSendHookHandler;
}

/** @param hasEnded whether a caller's credential has expired or been revoked since it was admitted. */
export function createIdempotencyHooks(
  idempotency: Idempotency,
  hasEnded: (caller: Caller) => boolean,
): IdempotencyHooks {
  /** @returns whether the request has been answered. */
  const enter = async (request: FastifyRequest, reply: FastifyReply, caller: Caller, key: string): Promise<boolean> => {
    const { record } = request;
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const body = request.body === undefined ? "" : JSON.stringify(request.body);
    const id = repetitionId(caller, key);
    const turn = await idempotency.take({ id, request: [request.method, request.url, body] }, gone.signal);
    // It may have waited for minutes for the first answer.
    if (hasEnded(caller)) {
      if (turn.kind === "first") turn.end(undefined);
      throw new DomainError("UNAUTHORIZED", "the credential expired or was revoked before the answer was there");
    }
    if (turn.kind === "replay") {
      const { status, headers, body: text } = turn.answer;
      // The audit log is not to say that it was done twice.
      record.isReplay = true;
      record.error = errorOf(turn.answer);
      reply.code(status).headers(headers).header(replayedHeader, "true");
      reply.serializer((each: string) => each).send(text);
      return true;
    }
    record.endTurn = turn.end;
    // What breaks off without an answer must not hold up those who wait for it.
    const breakOff = async (): Promise<void> => {
      await Promise.allSettled([record.work]);
      setImmediate(() => turn.end(undefined));
    };
    reply.raw.once("close", () => void breakOff());
    return false;
  };

  return {
    async replay(request, reply) {
      const header = request.headers["idempotency-key"];
      const { caller } = request.record;
      if (header === undefined || caller === undefined) return;
      if (await enter(request, reply, caller, parseIdempotencyKey(header))) return reply;
    },
    keep(request, reply, payload, done) {
      const { endTurn } = request.record;
      const recording = recordingOf(payload);
      if (recording === undefined) endTurn?.(keptOf(request, answerOf(reply, payload)));
      // An answer in pieces is kept when all of it has left.
      else void recording.then((text) => endTurn?.(keptOf(request, answerOf(reply, text))));
      done(null, payload);
    },
  };
}
