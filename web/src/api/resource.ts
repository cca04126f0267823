import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Answer, call, connected, type Input, type Name, Refusal } from "./call.ts";

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

/** So long after the last key, click or move a page continues asking: a session that nobody uses has to end. */
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

/** One question, for all parts of the page that ask it. */
interface Asked<T> {
  readonly state: Signal<State<T>>;
  /** How often each of those who show it wants it again, in milliseconds. */
  readonly users: Map<symbol, number>;
  /** Asks it again. */
  again: () => void;
  /** Of the last question: see {@link epoch}. */
  epoch: number;
  answeredAt: number;
  /** Ends the question that runs, or the wait for the next one. */
  stop: AbortController;
  isRunning: boolean;
  /** Whether it is asked again by itself. */
  isWaiting: boolean;
  /** Whether it is answered at the next change, once there is an answer. */
  waits: boolean;
}

const unasked = -1;
/** Counts the times from which what is known may be old: a change that was made here, a connection that is back. */
const epoch = signal(0);
export const refreshAll = (): void => {
  epoch.value += 1;
};
connected.subscribe((isConnected) => {
  if (isConnected) epoch.value = epoch.peek() + 1;
});

const mostKept = 40;
/** By what was asked: a page that is opened again shows the last answer while it asks. */
const all = new Map<string, Asked<unknown>>();
const noState: State<unknown> = { data: undefined, error: undefined, loading: true };
const fresh = <T>(): Asked<T> => ({
  state: signal(noState as State<T>),
  users: new Map(),
  again: () => undefined,
  epoch: unasked,
  answeredAt: 0,
  stop: new AbortController(),
  isRunning: false,
  isWaiting: false,
  waits: false,
});

function askedOf<T>(key: string): Asked<T> {
  const found = (all.get(key) ?? fresh<unknown>()) as Asked<T>;
  all.delete(key);
  all.set(key, found);
  for (const [oldest, { users }] of all) {
    if (all.size <= mostKept) break;
    if (users.size === 0) all.delete(oldest);
  }
  return found;
}

/** Between two questions that are answered at the next change. */
const leastPauseMs = 1000;
/** A little less than proxies wait for an answer. */
const longest = "30s";

/** The same question, to be answered at the next change. */
function waitingFor<K extends Name>(input: Input<K> | undefined, { data, error }: State<Answer<K>>) {
  const { revision } = (data ?? {}) as { readonly revision?: number };
  if (revision === undefined || error !== undefined) return input;
  return { ...input, query: { ...(input as { query?: object } | undefined)?.query, wait: longest, since: revision } };
}

async function ask<K extends Name>(asked: Asked<Answer<K>>, name: K, input: Input<K> | undefined): Promise<void> {
  const { state, waits } = asked;
  asked.stop.abort();
  asked.stop = new AbortController();
  const { signal: ended } = asked.stop;
  asked.isRunning = true;
  asked.isWaiting = false;
  asked.epoch = epoch.peek();
  asked.again = () => void ask(asked, name, input);
  let retryMs: number | undefined;
  if (!state.peek().loading) state.value = { ...state.peek(), loading: true };
  try {
    const question = waits ? (waitingFor(input, state.peek()) as Input<K>) : input;
    const data = await call(name, question, { signal: ended });
    if (ended.aborted) return;
    state.value = { data, error: undefined, loading: false };
  } catch (error) {
    if (ended.aborted) return;
    retryMs = error instanceof Refusal ? error.retryAfterMs : undefined;
    // Where the budget of the key is used up what is known stays, and is asked for again when the service says.
    const isReported = retryMs === undefined || state.peek().data === undefined;
    state.value = { data: state.peek().data, error: isReported ? (error as Error) : undefined, loading: false };
  }
  asked.isRunning = false;
  asked.answeredAt = Date.now();
  askAfter(asked, retryMs ?? pauseOf(asked));
}

/** How long it is not asked again, in milliseconds. */
function pauseOf<T>({ state, users, waits }: Asked<T>): number {
  return waits && state.peek().error === undefined ? leastPauseMs : Math.min(...users.values());
}

/** Asks again after so many milliseconds, once somebody looks at the page. */
function askAfter<T>(asked: Asked<T>, ms: number): void {
  asked.stop.abort();
  asked.stop = new AbortController();
  const { signal: ended } = asked.stop;
  asked.isWaiting = ms !== Number.POSITIVE_INFINITY;
  if (!asked.isWaiting) return;
  const timer = setTimeout(() => whenAttended(asked.again, ended), ms);
  ended.addEventListener("abort", () => clearTimeout(timer), { once: true });
}

const keyOf = <K extends Name>(name: K, input: Input<K> | undefined): string =>
  `${name} ${JSON.stringify(input ?? {})}`;

/** Asks before anybody shows it, so that the answer comes while the page is made. */
export const askAhead = <K extends Name>(name: K, input?: Input<K>): void =>
  void ask(askedOf<Answer<K>>(keyOf(name, input)), name, input);

/** Asks again what is shown of these. */
export function refreshOf(...names: readonly Name[]): void {
  for (const [key, { users, again }] of all)
    if (users.size > 0 && names.some((name) => key.startsWith(`${name} `))) again();
}

export const forgetAll = (): void => all.clear();

/** What was answered a short time ago is not asked for again by another part of the page. */
const freshMs = 1000;

/**
 * The answer to a call that reads, kept while the page is open, and asked for once for all who show it.
 * @param options.every asks again after so many milliseconds, while somebody looks at the page.
 * @param options.skip asks nothing.
 * @param options.waits asks for the next change at once: for answers that have a `revision`. After an error it is as `every` says.
 */
export function useCall<K extends Name>(
  name: K,
  input?: Input<K>,
  options: { readonly every?: number; readonly skip?: boolean; readonly waits?: boolean } = {},
): Resource<Answer<K>> {
  const { every = Number.POSITIVE_INFINITY, skip = false, waits = false } = options;
  const key = keyOf(name, input);
  const asked = askedOf<Answer<K>>(key);
  asked.waits = waits;
  useEffect(() => {
    if (skip) return undefined;
    const user = Symbol(key);
    asked.users.set(user, every);
    const isOld = asked.epoch !== epoch.peek() || Date.now() - asked.answeredAt > freshMs;
    const isAsked = asked.isRunning && asked.epoch === epoch.peek();
    if (isOld && !isAsked) void ask(asked, name, input);
    else if (!asked.isRunning && !asked.isWaiting) askAfter(asked, pauseOf(asked));
    return () => {
      asked.users.delete(user);
      if (asked.users.size > 0) return;
      asked.stop.abort();
      if (asked.isRunning) asked.epoch = unasked;
      asked.isRunning = false;
      asked.isWaiting = false;
    };
  }, [key, epoch.value, every, skip]);
  return { ...asked.state.value, refresh: () => void ask(asked, name, input) };
}

/**
 * How often a page asks again, in milliseconds. A key has a hundred requests a minute and a thousand an hour, for all that use it: a page that
 * is open for hours has to leave most of them.
 */
export const pace = {
  /** What changes while somebody looks at it. */
  often: 10_000,
  usual: 30_000,
  seldom: 60_000,
  rarely: 300_000,
} as const;
