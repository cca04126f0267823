import { signal } from "@preact/signals";
import type { Answer, Client } from "#client/index.ts";
import { operations } from "./operations.generated.ts";

export type Name = keyof typeof operations & keyof Client;
export type Input<K extends Name> = NonNullable<Parameters<Client[K]>[0]>;
export type { Answer };

/** An answer that is an error of the service. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** When to ask again, where the service says so. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, body: unknown, retryAfter: string | null = null) {
    const { error } = (body ?? {}) as { error?: { code: string; message: string; details?: Record<string, unknown> } };
    super(
      error?.message ??
        `The answer cannot be read (status ${status}): it may be of something between this browser and the service.`,
    );
    this.status = status;
    this.code = error?.code ?? "UNREADABLE";
    this.details = error?.details ?? {};
    this.retryAfterMs = retryAfter === null ? undefined : Number(retryAfter) * 1000;
  }
}

/** The service did not answer at all. */
export class Unreachable extends Error {
  constructor() {
    super("The service cannot be reached.");
  }
}

/** Where the files of the console are, as seen from this one. */
export const consoleUrl = new URL(".", import.meta.url);
export const apiUrl = new URL("../api/v1/", consoleUrl);
/** Whether the last request was answered. */
export const connected = signal(true);

/** The second half of the session. Other services of this origin are below other paths. */
const place = `steward-session ${apiUrl.pathname}`;
export const secret = {
  get: (): string | null => localStorage.getItem(place),
  set: (value: string): void => localStorage.setItem(place, value),
  remove: (): void => localStorage.removeItem(place),
  /** Calls back when another tab has signed in or out, or got another half. */
  onChange: (changed: () => void): void =>
    addEventListener("storage", ({ key }) => {
      if (key === place) changed();
    }),
};

let endSession: () => void = () => undefined;
/** @param end what is done when the service says that the session is over. */
export const onSessionEnd = (end: () => void): void => {
  endSession = end;
};

type Parts = {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
};

/** The address of an operation with what is filled in. */
export function addressOf(name: Name, { params = {}, query = {} }: Parts = {}): URL {
  const path = operations[name][1].replaceAll(/\{(\w+)\}/g, (_, key: string) =>
    encodeURIComponent(String(params[key])),
  );
  const url = new URL(path, apiUrl);
  for (const [key, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== "") url.searchParams.append(key, String(each));
  }
  return url;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The token of the plan that somebody has seen. */
  readonly planToken?: string | undefined;
  /** Why a window is overridden that holds the call back. */
  readonly override?: string | undefined;
  /** Asks for the operation instead of its end. */
  readonly later?: boolean;
}

/** @throws Unreachable where nothing answers. */
async function send(url: URL, init: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(url, { ...init, credentials: "same-origin" });
    connected.value = true;
    return answer;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    connected.value = false;
    throw new Unreachable();
  }
}

/** @throws Unreachable where the connection ends before the answer does. */
async function textOf(answer: Response, signal: AbortSignal | undefined): Promise<string> {
  try {
    return await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    connected.value = false;
    throw new Unreachable();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Begins a call in this session. @returns its answer, and the half of the session that it was made with. */
async function begin(name: Name, parts: Parts, options: CallOptions) {
  const half = secret.get();
  const answer = await send(addressOf(name, parts), {
    method: operations[name][0],
    headers: {
      ...(half !== null && { "X-Steward-Session": half }),
      ...(parts.body !== undefined && { "Content-Type": "application/json" }),
      ...(options.planToken !== undefined && { "X-Plan-Token": options.planToken }),
      ...(options.override !== undefined && { "X-Window-Override": options.override }),
      ...(options.later && { Prefer: "respond-async" }),
    },
    ...(parts.body !== undefined && { body: JSON.stringify(parts.body) }),
    ...(options.signal && { signal: options.signal }),
  });
  return { answer, half };
}

/** What an answer says that is none. Where it says so, the session is over. */
function refusalOf({ answer, half }: Awaited<ReturnType<typeof begin>>, body: unknown): Refusal {
  const refusal = new Refusal(answer.status, body, answer.headers.get("Retry-After"));
  if (answer.status === 401 && half !== null && half === secret.get()) endSession();
  return refusal;
}

/**
 * Calls an operation of the service in this session.
 * @throws Refusal where the service refuses, Unreachable where it does not answer.
 */
export async function call<K extends Name>(name: K, input?: Input<K>, options: CallOptions = {}): Promise<Answer<K>> {
  const started = await begin(name, input ?? {}, options);
  const body = parsed(await textOf(started.answer, options.signal));
  if (started.answer.ok && body !== undefined) return body as Answer<K>;
  throw refusalOf(started, body);
}

/** An event of an answer in pieces (WHATWG HTML, section 9.2). */
export interface PieceOfAnswer {
  readonly event: string;
  readonly data: unknown;
}

function pieceOf(block: string): PieceOfAnswer | undefined {
  const fields = block.split("\n").map((line) => /^(event|data): ?(.*)$/.exec(line) ?? []);
  const of = (name: string): string => fields.flatMap(([, field, value]) => (field === name ? [value] : [])).join("\n");
  return of("data") === "" ? undefined : { event: of("event"), data: parsed(of("data")) };
}

async function* piecesIn(body: ReadableStream<BufferSource>, signal: AbortSignal | undefined) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const read = await reader.read().catch((error: unknown) => {
        if (signal?.aborted) throw error;
        connected.value = false;
        throw new Unreachable();
      });
      if (read.done) return;
      const blocks = `${rest}${read.value}`.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const piece = pieceOf(block);
        if (piece !== undefined) yield piece;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * {@link call} with its answer in pieces, as server-sent events; an event `error` is thrown.
 * @throws Refusal where the service refuses, Unreachable where it does not answer or the answer breaks off.
 */
export async function* callInPieces<K extends Name>(
  name: K,
  input: Input<K>,
  options: CallOptions = {},
): AsyncGenerator<PieceOfAnswer> {
  const started = await begin(name, input, options);
  const { answer } = started;
  if (!answer.ok || answer.body === null) throw refusalOf(started, parsed(await textOf(answer, options.signal)));
  for await (const piece of piecesIn(answer.body, options.signal)) {
    if (piece.event === "error") throw new Refusal(answer.status, piece.data);
    yield piece;
  }
}

/** Whether the service answers. */
export async function ping(): Promise<boolean> {
  try {
    return (await send(new URL("../livez", consoleUrl), { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/** Whether the service has another console than this one, since it was updated. */
export async function isReplaced(): Promise<boolean> {
  const page = await send(consoleUrl, { cache: "no-cache" });
  const own = import.meta.url.slice(import.meta.url.lastIndexOf("/") + 1);
  return page.ok && !(await page.text()).includes(own);
}
