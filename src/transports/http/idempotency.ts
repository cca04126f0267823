import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest, onSendHookHandler, preHandlerAsyncHookHandler } from "fastify";
import type { ErrorBody } from "#contract/error-body.ts";
import { type ErrorCode, errorStatus, isErrorCode, isErrorStatus } from "#contract/errors.ts";
import { type Caller, idempotencyKeyForm } from "#contract/operation.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import type { Clock } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";
import { errorBody } from "./error-reply.ts";
import { recordingOf } from "./event-stream.ts";
import { type Answer, isDryRun, type RequestRecord } from "./request-record.ts";

export interface KeptAnswer {
  readonly id: string;
  readonly fingerprint: string;
  readonly at: number;
  readonly answer: Answer;
}

export interface AnswerFiles {
  readonly load: () => readonly KeptAnswer[];
  readonly save: (kept: KeptAnswer) => void;
  readonly remove: (id: string) => void;
}

export interface IdempotencyPorts {
  readonly clock: Pick<Clock, "now">;
  /** Undefined: answers are only in memory. */
  readonly files?: AnswerFiles;
  readonly onTrouble: (error: unknown) => void;
  readonly limits?: { readonly answers: number; readonly bytes: number };
}

type Turn =
  | { readonly kind: "replay"; readonly answer: Answer }
  | {
      readonly kind: "first";
      readonly end: (answer: Answer | undefined) => void;
    };

const keptForMs = 24 * 60 * 60 * 1000;
const defaultLimits = { answers: 10_000, bytes: 32 * 1024 * 1024 };
const overheadBytes = 512;

export function parseIdempotencyKey(header: string | readonly string[]): string {
  const text = typeof header === "string" ? header : header.join(", ");
  if (!idempotencyKeyForm.test(text)) throw invalid("Idempotency-Key", "Must be 1 to 255 printable ASCII characters");
  return text;
}

const digestOf = (parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url");

/**
 * The identity of a request and its repetitions: the idempotency key, the API key and its scopes. A certificate or a token with
 * the same scopes is the same caller, so a client may repeat with its next token; other scopes never get this answer.
 */
export const repetitionId = ({ keyId, scopes }: Pick<Caller, "keyId" | "scopes">, idempotencyKey: string): string =>
  digestOf([idempotencyKey, keyId, ...[...new Set(scopes)].sort()]);

/** Errors that do not depend on the request itself: a repetition may succeed. */
const passing: readonly ErrorCode[] = ["UNAUTHORIZED", "FORBIDDEN", "CONFLICT", "RATE_LIMITED"];
const isKept = (status: number): boolean =>
  !isErrorStatus(status) ||
  (status < errorStatus.INTERNAL_ERROR && !passing.some((code) => errorStatus[code] === status));

/** Errors that a repetition can get as the first answer; `CONFLICT` stands for one that held a secret. */
export const replayedErrors: readonly ErrorCode[] = [
  ...Object.keys(errorStatus).filter((code): code is ErrorCode => isErrorCode(code) && isKept(errorStatus[code])),
  "CONFLICT",
];

/** First answers by idempotency key, for a day; bounded in number and bytes, the oldest are dropped first. */
export function createIdempotency({ clock, files, onTrouble, limits = defaultLimits }: IdempotencyPorts) {
  const kept = new Map<string, KeptAnswer>();
  const running = new Map<string, { readonly fingerprint: string; readonly ended: Promise<void> }>();
  let bytes = 0;

  const sizeOf = ({ answer }: KeptAnswer): number => answer.body.length + overheadBytes;
  const onDisk = (work: (files: AnswerFiles) => void): void => {
    orReport(() => {
      if (files !== undefined) work(files);
    }, onTrouble);
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
        // Nobody waits for the answer any more, so nothing is done.
        if (signal.aborted) throw new DomainError("UNAVAILABLE", "cannot answer: the client has gone");
      }
    },
  };
}

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Headers that belong to the answer, not to the connection or the request. */
const keptHeaders = ["content-type", "location", "preference-applied", "pragma", "x-accel-buffering"];
export const replayedHeader = "Idempotent-Replayed";

function answerOf(reply: FastifyReply, payload: unknown): Answer | undefined {
  const body = Buffer.isBuffer(payload) ? payload.toString("utf8") : payload;
  // A stream that broke off or was too long.
  if (typeof body !== "string") return undefined;
  const headers = keptHeaders.flatMap((name) => {
    const value = reply.getHeader(name);
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return { status: reply.statusCode, headers: Object.fromEntries(headers), body };
}

const acceptedStatus = 202;

const withheldMessage =
  "cannot repeat the answer: the first call with this Idempotency-Key succeeded, and the secret that it made is shown once (`details.made` says what it made; to make another, call with another Idempotency-Key)";

/** What is kept of an answer: instead of a secret, the refusal that a repetition gets. */
function keptOf(request: FastifyRequest, answer: Answer | undefined): Answer | undefined {
  const { route, hasSecret } = request.record;
  // What waits for approval has made no secret yet.
  const isMade = !isDryRun(request) && answer?.status !== acceptedStatus;
  const isSecret = hasSecret || (route?.audit?.operation.answerIsSecret === true && isMade);
  if (answer === undefined || !isKept(answer.status)) return undefined;
  if (!isSecret || isErrorStatus(answer.status)) return answer;
  const body = errorBody("CONFLICT", withheldMessage, { made: request.record.touched ?? {}, retryable: false });
  return {
    status: errorStatus.CONFLICT,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify(body),
  };
}

function answerError({ status, body }: Answer): RequestRecord["error"] {
  if (!isErrorStatus(status)) return undefined;
  const { error }: Partial<ErrorBody> = JSON.parse(body);
  return error && { code: error.code, field: error.details?.field };
}

export type IdempotencyHooks = ReturnType<typeof createIdempotencyHooks>;

/** @param hasEnded whether a credential has expired or been revoked since it was admitted. */
export function createIdempotencyHooks(idempotency: Idempotency, hasEnded: (caller: Caller) => boolean) {
  /** @returns whether the request has been answered. */
  const enter = async (request: FastifyRequest, reply: FastifyReply, caller: Caller, key: string): Promise<boolean> => {
    const { record } = request;
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const body = request.body === undefined ? "" : JSON.stringify(request.body);
    const id = repetitionId(caller, key);
    const turn = await idempotency.take({ id, request: [request.method, request.url, body] }, gone.signal);
    // The wait for the first answer may have taken minutes.
    if (hasEnded(caller)) {
      if (turn.kind === "first") turn.end(undefined);
      throw new DomainError("UNAUTHORIZED", "the credential expired or was revoked before the answer was there");
    }
    if (turn.kind === "replay") {
      const { status, headers, body: text } = turn.answer;
      // The audit log must not report it as done twice.
      record.isReplay = true;
      record.error = answerError(turn.answer);
      reply.code(status).headers(headers).header(replayedHeader, "true");
      reply.serializer((each: string) => each).send(text);
      return true;
    }
    record.endTurn = turn.end;
    // A request that breaks off must not block those that wait for its answer.
    const breakOff = async (): Promise<void> => {
      await Promise.allSettled([record.work]);
      setImmediate(() => turn.end(undefined));
    };
    reply.raw.once("close", () => void breakOff());
    return false;
  };

  const replay: preHandlerAsyncHookHandler = async (request, reply) => {
    const header = request.headers["idempotency-key"];
    const { caller } = request.record;
    if (header === undefined || caller === undefined) return;
    if (await enter(request, reply, caller, parseIdempotencyKey(header))) return reply;
  };
  const keep: onSendHookHandler = (request, reply, payload, done) => {
    const { endTurn } = request.record;
    const recording = recordingOf(payload);
    if (recording === undefined) endTurn?.(keptOf(request, answerOf(reply, payload)));
    // A stream is kept when all of it has left.
    else void recording.then((text) => endTurn?.(keptOf(request, answerOf(reply, text))));
    done(null, payload);
  };
  return { replay, keep };
}
