import type { ChatCall, ChatPart, ChatProvider, ChatReply, ProviderFailed } from "#domain/ports/connectors.ts";

export interface FakeChatProvider extends ChatProvider {
  /** What was asked, chats and streams alike. */
  readonly calls: ChatCall[];
  /** How often it was probed. */
  readonly probes: () => number;
  /** How many calls were given up by anyone who made them. */
  readonly aborted: () => number;
  /** The next call, stream or probe fails with this; several times: the ones after it. */
  readonly failNext: (error: ProviderFailed) => void;
  /** Keeps calls, and streams once they have sent some pieces, waiting until the function that it gives is called. */
  readonly hold: (afterPieces?: number) => () => void;
}

const defaultReply: ChatReply = {
  content: "Hello to you too",
  model: "fake-1",
  usage: { inputTokens: 3, outputTokens: 4 },
  finishReason: "stop",
  warnings: [],
};

/** Waits for the promise, but no longer than the signal allows. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Answers every call alike.
 * @param options.answer what it answers to each call, where that differs from `reply`; it may throw.
 * @param options.failures by the text of the last message, what a call fails with.
 * @param options.pieces of a stream; the words of the answer unless given.
 */
export function createFakeChatProvider(
  options: {
    readonly reply?: Partial<ChatReply>;
    readonly pieces?: readonly string[];
    readonly answer?: (call: ChatCall) => Partial<ChatReply> | Promise<Partial<ChatReply>>;
    readonly failures?: Readonly<Record<string, ProviderFailed>>;
  } = {},
): FakeChatProvider {
  const { failures = {} } = options;
  const reply = { ...defaultReply, ...options.reply };
  const pieces = options.pieces ?? reply.content.split(/(?<= )/);
  const calls: ChatCall[] = [];
  const waitingFailures: ProviderFailed[] = [];
  let probes = 0;
  let aborted = 0;
  let held = { promise: Promise.resolve(), afterPieces: 0 };

  const failIfRequested = (): void => {
    const failure = waitingFailures.shift();
    if (failure !== undefined) throw failure;
  };
  /** Begins a call. */
  function begin(call: ChatCall, signal: AbortSignal): void {
    calls.push(call);
    signal.throwIfAborted();
    failIfRequested();
    const text = call.messages.at(-1)?.content ?? "";
    const failure = Object.hasOwn(failures, text) ? failures[text] : undefined;
    if (failure !== undefined) throw failure;
  }
  async function wait(signal: AbortSignal): Promise<void> {
    try {
      await unlessAborted(held.promise, signal);
    } catch (error) {
      aborted += 1;
      throw error;
    }
  }
  async function* stream(call: ChatCall, signal: AbortSignal): AsyncGenerator<ChatPart> {
    begin(call, signal);
    for (const [index, text] of pieces.entries()) {
      if (index >= held.afterPieces) await wait(signal);
      yield { kind: "text", text };
    }
    await wait(signal);
    const { content: _, ...end } = reply;
    yield { kind: "end", ...end };
  }

  return {
    calls,
    probes: () => probes,
    aborted: () => aborted,
    failNext: (error) => waitingFailures.push(error),
    hold(afterPieces = 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = { promise, afterPieces };
      return resolve;
    },
    async chat(call, signal) {
      begin(call, signal);
      await wait(signal);
      return { ...reply, ...(await options.answer?.(call)) };
    },
    stream,
    async probe(signal) {
      probes += 1;
      signal.throwIfAborted();
      failIfRequested();
      await wait(signal);
    },
  };
}
