import type { TSchema } from "typebox";
import { apiBase } from "#contract/limits.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import type {
  DroppedFrame,
  ErrorFrame,
  HealthFrame,
  HealthServerFrame,
  LogServerFrame,
  OperationFrame,
  OperationServerFrame,
} from "#contract/streams.ts";
import { closeCodes, streams } from "#contract/streams.ts";
import { toError } from "#kernel/errors.ts";
import { parseAs } from "./answer.ts";
import { ApiError } from "./errors.ts";
import { addressOf, type Sleep, sleep } from "./http.ts";
import { toApiError } from "./index.ts";

export interface LogStreamOptions extends Transport {
  readonly url: string;
  readonly key?: string | undefined;
  readonly unit?: string;
  /** Name or number of the least severe priority. */
  readonly priority?: string;
  readonly grep?: string;
  /** Id of a template. */
  readonly template?: string;
  /** As of a query. */
  readonly namespace?: string;
  readonly cursor?: string;
  readonly signal?: AbortSignal;
  readonly allow?: (() => Promise<void>) | undefined;
  /** Called with lost frames, and with errors after which the stream continues. */
  readonly onNotice?: (notice: DroppedFrame | ErrorFrame) => void;
  readonly onConnection?: (state: "lost" | "back") => void;
}

export interface Transport {
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly openSocket?: ((address: URL) => WebSocket) | undefined;
  /** Waits between two attempts; by the clock unless given. */
  readonly sleep?: Sleep | undefined;
}

const maxWaiting = 10_000;
const firstRetryMs = 500;
const maxRetryMs = 15_000;

function logAddress(options: LogStreamOptions, cursor: string | undefined): URL {
  const { url, unit, priority, grep, template, namespace } = options;
  const address = addressOf(url, `${apiBase}${streams.logs.path}`);
  for (const [name, value] of Object.entries({ unit, priority, grep, template, namespace, cursor })) {
    if (value !== undefined) address.searchParams.set(name, value);
  }
  return address;
}

/**
 * Why a connection was refused. A WebSocket does not say, so the same request is sent without an upgrade, whose lack is the only
 * error if nothing else is wrong.
 */
async function findRefusal(options: LogStreamOptions, cursor: string | undefined): Promise<ApiError | undefined> {
  const { fetch = globalThis.fetch } = options;
  const answer = await fetch(logAddress(options, cursor), {
    headers: { ...(options.key !== undefined && { "X-API-Key": options.key }) },
    redirect: "error",
    ...(options.signal && { signal: options.signal }),
  }).catch(() => undefined);
  const error = await (answer && toApiError(answer).catch(() => undefined));
  if (error === undefined) return undefined;
  const isPassing = ["RATE_LIMITED", "INTERNAL_ERROR", "UNAVAILABLE", "UNREADABLE"].includes(error.code);
  return isPassing || error.details?.["field"] === "Upgrade" ? undefined : error;
}

/** The final error of a connection; undefined when it can be made again. */
function finalError(closed: CloseEvent | undefined, lastError: ErrorFrame | undefined): ApiError | undefined {
  const status = closed?.code;
  if (status === closeCodes.keyEnded) {
    return new ApiError({
      code: "UNAUTHORIZED",
      message: closed?.reason ?? "key ended",
      status,
      requestId: undefined,
    });
  }
  if (status !== closeCodes.policyViolation || lastError === undefined) return undefined;
  const { code, message, details } = lastError.error;
  return new ApiError({ code, message, status, details });
}

function openGlobalSocket(address: URL): WebSocket {
  if (globalThis.WebSocket === undefined)
    throw new Error(
      "cannot open a stream: there is no WebSocket here (Node has it from version 22 on): pass openSocket",
    );
  return new WebSocket(address);
}

/** A connection as a queue of frames, until the signal fires. */
function connect<Frame>(
  address: URL,
  schema: TSchema,
  options: Pick<LogStreamOptions, "key" | "openSocket"> & {
    readonly signal?: AbortSignal | undefined;
    readonly onOpen?: () => void;
  },
) {
  const { key, signal, openSocket, onOpen } = options;
  address.protocol = address.protocol.replace("http", "ws");
  if (key !== undefined) address.searchParams.set("api_key", key);
  const socket = (openSocket ?? openGlobalSocket)(address);
  // The reason comes from the same request without an upgrade.
  socket.addEventListener("error", () => undefined);
  const frames: Frame[] = [];
  let wake = (): void => undefined;
  const onAbort = (): void => wake();
  signal?.addEventListener("abort", onAbort);
  const state = {
    isOpened: false,
    closed: undefined as CloseEvent | undefined,
    /** Something was received that is not from Steward. */
    fault: undefined as Error | undefined,
  };
  socket.addEventListener("open", () => {
    state.isOpened = true;
    onOpen?.();
  });
  socket.addEventListener("message", ({ data }) => {
    if (state.fault !== undefined) return;
    try {
      frames.push(parseAs(schema, String(data)) as Frame);
    } catch (error) {
      state.fault = toError(error);
      socket.close();
    }
    if (frames.length >= maxWaiting) socket.close();
    wake();
  });
  socket.addEventListener("close", (event) => {
    state.closed = event;
    wake();
  });
  return {
    state,
    close(): void {
      signal?.removeEventListener("abort", onAbort);
      socket.close();
    },
    /** @returns undefined at the end. @throws ApiError for something that is not a frame. */
    async next(): Promise<Frame | undefined> {
      while (frames.length === 0 && state.fault === undefined && state.closed === undefined && !signal?.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (signal?.aborted) return undefined;
      const frame = frames.shift();
      if (frame === undefined && state.fault !== undefined) throw state.fault;
      return frame;
    },
  };
}

/**
 * Journal entries as they are written, until the signal fires. A lost connection is made again after the last entry. Runs in Node and
 * in browsers.
 * @throws ApiError when the service refuses the key, the filter or the cursor, or the key has ended.
 */
export async function* streamLogs(options: LogStreamOptions): AsyncGenerator<LogEntry, void, undefined> {
  const { key, signal, openSocket, onNotice } = options;
  let { cursor } = options;
  let waitMs = firstRetryMs;
  let isLost = false;
  const onOpen = (): void => {
    if (isLost) options.onConnection?.("back");
    isLost = false;
  };
  while (!signal?.aborted) {
    await options.allow?.();
    const connection = connect<LogServerFrame>(logAddress(options, cursor), streams.logs.serverFrame, {
      key,
      signal,
      openSocket,
      onOpen,
    });
    let lastError: ErrorFrame | undefined;
    try {
      for (;;) {
        const frame = await connection.next();
        if (frame === undefined) break;
        if ("type" in frame) {
          if (frame.type === "error") lastError = frame;
          onNotice?.(frame);
          continue;
        }
        waitMs = firstRetryMs;
        cursor = frame.cursor;
        yield frame;
      }
    } finally {
      connection.close();
    }
    if (signal?.aborted) return;
    const { closed, isOpened } = connection.state;
    const end = finalError(closed, lastError) ?? (isOpened ? undefined : await findRefusal(options, cursor));
    if (end !== undefined) throw end;
    if (!isLost) options.onConnection?.("lost");
    isLost = true;
    await (options.sleep ?? sleep)(waitMs, signal);
    waitMs = Math.min(waitMs * 2, maxRetryMs);
  }
}

/** What a stream is about, without its notices, over one connection until that or the signal ends it. */
async function* framesOf<Frame extends object>(
  address: URL,
  schema: TSchema,
  options: Pick<LogStreamOptions, "key" | "signal" | "openSocket">,
): AsyncGenerator<Exclude<Frame, { readonly type: string }>, void, undefined> {
  const connection = connect<Frame>(address, schema, options);
  try {
    for (;;) {
      const frame = await connection.next();
      if (frame === undefined) return;
      if (!("type" in frame)) yield frame as Exclude<Frame, { readonly type: string }>;
    }
  } finally {
    connection.close();
  }
}

/** Results of checks, first the last one of each, until the signal fires or the connection ends. For Node and browsers. */
export async function* streamChecks(
  options: Pick<LogStreamOptions, "url" | "key" | "signal" | "openSocket">,
): AsyncGenerator<HealthFrame, void, undefined> {
  const { url } = options;
  const address = addressOf(url, `${apiBase}${streams.health.path}`);
  yield* framesOf<HealthServerFrame>(address, streams.health.serverFrame, options);
}

/**
 * An operation as it comes along, first as it is, until the signal fires or the connection ends, which it also does for a service
 * that has no such stream. For Node and browsers.
 */
export async function* streamOperation(
  options: Pick<LogStreamOptions, "url" | "key" | "signal" | "openSocket" | "allow"> & { readonly id: string },
): AsyncGenerator<OperationFrame, void, undefined> {
  const { url, id } = options;
  const address = addressOf(url, `${apiBase}${streams.operations.path}`);
  address.searchParams.set("id", id);
  await options.allow?.();
  yield* framesOf<OperationServerFrame>(address, streams.operations.serverFrame, options);
}
