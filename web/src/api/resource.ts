import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Answer, call, connected, type Input, type Name } from "./call.ts";

/** What is known of an answer. */
export interface State<T> {
  /** The last answer, also while another one is asked for, or after that has failed. */
  readonly data: T | undefined;
  readonly error: Error | undefined;
  readonly loading: boolean;
}

export interface Resource<T> extends State<T> {
  readonly refresh: () => void;
}

/** So long after the last key, click or move a page goes on asking: a session that nobody uses has to end. */
const attendedMs = 10 * 60_000;
let lastInput = Date.now();
const inputs = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"] as const;
for (const kind of inputs) {
  addEventListener(
    kind,
    () => {
      lastInput = Date.now();
    },
    { passive: true, capture: true },
  );
}

/** Calls once somebody looks at the page: at once where somebody does. */
function whenAttended(work: () => void, signal: AbortSignal): void {
  if (document.visibilityState === "visible" && Date.now() - lastInput < attendedMs) {
    work();
    return;
  }
  const stop = new AbortController();
  const again = (): void => {
    if (document.visibilityState !== "visible") return;
    stop.abort();
    work();
  };
  const options = { signal: AbortSignal.any([signal, stop.signal]) };
  document.addEventListener("visibilitychange", again, options);
  for (const kind of inputs) addEventListener(kind, again, { ...options, passive: true });
}

const mostKept = 40;
/** Answers by what was asked: a page that is opened again shows the last one while it asks. */
const kept = new Map<string, Signal<State<unknown>>>();

function stateOf(key: string): Signal<State<unknown>> {
  const found = kept.get(key) ?? signal<State<unknown>>({ data: undefined, error: undefined, loading: true });
  kept.delete(key);
  kept.set(key, found);
  for (const [oldest] of kept) {
    if (kept.size <= mostKept) break;
    kept.delete(oldest);
  }
  return found;
}

/** Counts changes that somebody has made here: what is shown is asked for again. */
const changes = signal(0);
export const refreshAll = (): void => {
  changes.value += 1;
};

export const forgetAll = (): void => kept.clear();

/**
 * The answer to a call that reads, kept while the page is open.
 * @param options.every asks again after so many milliseconds, while somebody looks at the page.
 * @param options.skip asks nothing.
 */
export function useCall<K extends Name>(
  name: K,
  input?: Input<K>,
  options: { readonly every?: number; readonly skip?: boolean } = {},
): Resource<Answer<K>> {
  const { every, skip = false } = options;
  const key = `${name} ${JSON.stringify(input ?? {})}`;
  const state = stateOf(key) as Signal<State<Answer<K>>>;
  const asked = useSignal(0);
  const again = asked.value + changes.value + (connected.value ? 0.5 : 0);

  useEffect(() => {
    if (skip) return undefined;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      if (!state.peek().loading) state.value = { ...state.peek(), loading: true };
      try {
        const data = await call(name, input, { signal: stop.signal });
        state.value = { data, error: undefined, loading: false };
      } catch (error) {
        if (stop.signal.aborted) return;
        state.value = { data: state.peek().data, error: error as Error, loading: false };
      }
      if (every === undefined || stop.signal.aborted) return;
      timer = setTimeout(() => whenAttended(() => void ask(), stop.signal), every);
    };
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, again, every, skip]);

  return {
    ...state.value,
    refresh: () => {
      asked.value += 1;
    },
  };
}
