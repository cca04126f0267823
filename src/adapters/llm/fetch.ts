import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { guardedLookup, isLinkLocal } from "#adapters/link-local/index.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import { lazy } from "#kernel/async.ts";
import { failed, unreachable } from "./failures.ts";

export interface FetchLimits {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
  readonly answerBytes: number;
  readonly streamBytes: number;
  readonly headers?: () => Readonly<Record<string, string>>;
}

export const defaultLimits: FetchLimits = {
  connectMs: 10_000,
  headersMs: 120_000,
  idleMs: 60_000,
  answerBytes: 8 * 1024 * 1024,
  streamBytes: 64 * 1024 * 1024,
};

const refusalBytes = 64 * 1024;

export type Fetch = typeof globalThis.fetch;

const neverAsked = (host: string): ProviderFailed =>
  unreachable(`${host} is a link-local address, which is never asked`);

const tooMuch = (bytes: number): ProviderFailed =>
  failed("unreadable", `the provider sent an answer of more than the ${bytes} bytes that are accepted`);

type Gauge = (chunk: Uint8Array) => boolean;

function gaugeWhole(limit: number): Gauge {
  let total = 0;
  return (chunk) => {
    total += chunk.length;
    return total > limit;
  };
}

const lineFeed = 10;
const carriageReturn = 13;

/** An event ends with an empty line, and anyone who reads events holds one until then. */
function gaugeEvents(eventLimit: number, limit: number): Gauge {
  const isTooLong = gaugeWhole(limit);
  let event = 0;
  let isLineEmpty = true;
  return (chunk) => {
    for (const byte of chunk) {
      event += 1;
      if (byte === lineFeed) {
        if (isLineEmpty) event = 0;
        isLineEmpty = true;
      } else if (byte !== carriageReturn) {
        isLineEmpty = false;
      }
      if (event > eventLimit) return true;
    }
    return isTooLong(chunk);
  };
}

function boundedBody(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  isTooMuch: Gauge,
  error: ProviderFailed | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      if (!isTooMuch(value)) return controller.enqueue(value);
      await reader.cancel(error);
      if (error === undefined) controller.close();
      else controller.error(error);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const bodyHeaders: readonly string[] = ["content-encoding", "content-length", "transfer-encoding"];

interface Answer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Iterable<[string, string]>;
  readonly body: ReadableStream<Uint8Array> | null;
}

function boundedAnswer({ status, ok, headers, body }: Answer, limits: FetchLimits): Response {
  const kept = new Headers([...headers].filter(([name]) => !bodyHeaders.includes(name)));
  // Its own words for the status are left behind: they may be anything.
  const init = { status, headers: kept };
  if (body === null || status === 204 || status === 205) return new Response(null, init);
  const isStream = ok && kept.get("content-type")?.startsWith("text/event-stream") === true;
  const { answerBytes, streamBytes } = limits;
  const gauge = isStream ? gaugeEvents(answerBytes, streamBytes) : gaugeWhole(ok ? answerBytes : refusalBytes);
  return new Response(boundedBody(body.getReader(), gauge, ok ? tooMuch(answerBytes) : undefined), init);
}

async function openClient({ connectMs, headersMs, idleMs }: FetchLimits, resolve: LookupFunction) {
  const { Agent, fetch } = await import("undici");
  const dispatcher = new Agent({
    connect: { timeout: connectMs, lookup: guardedLookup(neverAsked, resolve) },
    headersTimeout: headersMs,
    bodyTimeout: idleMs,
    allowH2: false,
  });
  return (url: URL, init: { method: string; headers: [string, string][]; body: string | null; signal: AbortSignal }) =>
    fetch(url, { ...init, dispatcher, redirect: "manual" });
}

/** Ports of other protocols, such as mail, are refused before any connection (WHATWG Fetch, port blocking). */
const isPortBlocked = (error: unknown): boolean =>
  error instanceof TypeError && error.cause instanceof Error && error.cause.message === "bad port";

function readRequest(input: string | URL | Request, init: RequestInit = {}) {
  if (input instanceof Request) throw new TypeError("a request is an address and its parts");
  const { body = null } = init;
  if (body !== null && typeof body !== "string") throw new TypeError("the body of a request is text");
  const headers = new Headers(init.headers);
  headers.set("user-agent", "steward");
  const signal = init.signal ?? new AbortController().signal;
  return { url: new URL(input), init: { method: init.method ?? "GET", headers: [...headers], body, signal } };
}

/** `fetch` with limits of time and size, without link-local addresses, redirects and proxies. */
export function createFetch(given: Partial<FetchLimits> = {}, resolve: LookupFunction = lookup): Fetch {
  const limits = { ...defaultLimits, ...given };
  const client = lazy(() => openClient(limits, resolve));
  return async (input, init) => {
    const request = readRequest(input, init);
    if (isLinkLocal(request.url.hostname)) throw neverAsked(request.url.hostname);
    request.init.headers.push(...Object.entries(limits.headers?.() ?? {}));
    const answer = await (await client())(request.url, request.init).catch((error: unknown) => {
      if (!isPortBlocked(error)) throw error;
      throw unreachable(`port ${request.url.port} is kept for another protocol and is never asked`);
    });
    if (answer.status < 300 || answer.status > 399) return boundedAnswer(answer, limits);
    await answer.body?.cancel();
    throw new ProviderFailed(`the provider answered with a redirect (${answer.status}), which is not followed`, {
      failure: "refused",
      status: answer.status,
      isRetryable: false,
    });
  };
}
