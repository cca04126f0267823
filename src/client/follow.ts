import { operations } from "#contract/index.ts";
import type { Input } from "#contract/operation.ts";
import type { OperationDetail } from "#contract/operation-entry.ts";
import { describeMismatch, notAnAnswer } from "./answer.ts";
import { ApiError, mayPass } from "./errors.ts";
import { sleep } from "./http.ts";
import { type Answer, beginOperation, type ClientOptions, createClient, type LongOperationName } from "./index.ts";

export interface FollowOptions extends ClientOptions {
  /** Called with the operation as it comes along, at least every ten seconds. */
  readonly onProgress?: (operation: OperationDetail) => void;
  /** Milliseconds that the service may be out of reach: an update may restart it, a rollback the host. Two minutes unless given. */
  readonly patienceMs?: number;
}

const defaultPatienceMs = 120_000;
const firstRetryMs = 500;
const maxRetryMs = 5_000;
/** The longest time without news of the progress. */
const wait = "10s";
/** Between two requests to a service that answers at once, since it does not know how to wait. */
const leastPauseMs = 500;

/** Of `TypeError`, `fetch` makes those of the network, in browsers without a cause. */
const isPassing = (error: unknown): boolean =>
  error instanceof ApiError ? mayPass(error) : error instanceof TypeError;

/** @throws TypeError for what is no address, which would look like a network that is down. */
const requireUrl = (url: string): void => void new URL(url);

/** Asks again while the service cannot be reached. @throws the last error when patience or the signal ends. */
async function patiently<T>({ signal, patienceMs = defaultPatienceMs }: FollowOptions, ask: () => Promise<T>) {
  let lostAtMs: number | undefined;
  for (let pauseMs = firstRetryMs; ; pauseMs = Math.min(pauseMs * 2, maxRetryMs)) {
    try {
      return await ask();
    } catch (error) {
      lostAtMs ??= performance.now();
      if (signal?.aborted || !isPassing(error) || performance.now() - lostAtMs > patienceMs) throw error;
      await sleep(pauseMs, signal);
    }
  }
}

/**
 * Waits for the end of an operation, through lost connections and restarts of the service.
 * @returns it as it ended, whether it succeeded or not.
 * @throws ApiError when the service refuses or answers something else for too long; the error of `fetch` when it cannot be reached
 * for too long; the reason of the signal.
 */
export async function followOperation(options: FollowOptions, id: string): Promise<OperationDetail> {
  const { signal, onProgress } = options;
  requireUrl(options.url);
  const client = createClient(options);
  // At once first: anyone who follows sees where it is.
  for (let query: { wait?: string } = {}; ; query = { wait }) {
    const askedAtMs = performance.now();
    const operation = await patiently(options, () => client.getOperation({ params: { id }, query }));
    onProgress?.(operation);
    if (operation.finished_at !== null) return operation;
    if (query.wait !== undefined && performance.now() - askedAtMs < leastPauseMs) await sleep(leastPauseMs, signal);
    signal?.throwIfAborted();
  }
}

/**
 * Carries out an operation that outlives its request: begins it exactly once, however often the connection breaks, and follows it
 * to its end.
 * @returns its answer.
 * @throws ApiError when the service refuses it or it fails; else as {@link followOperation}. Then it may continue: its key is lost.
 */
export async function runOperation<K extends LongOperationName>(
  options: FollowOptions,
  name: K,
  input: Partial<Input<(typeof operations)[K]>>,
): Promise<Answer<K>> {
  requireUrl(options.url);
  const key = crypto.randomUUID();
  const started = await patiently(options, () => beginOperation(options, name, input, key));
  if ("answer" in started) return started.answer as Answer<K>;
  const { id, error, result, status } = await followOperation(options, started.operation.id);
  if (error === null && status === "done") {
    const mismatch = describeMismatch(operations[name].response, result);
    if (mismatch !== undefined) throw notAnAnswer(undefined, `result: ${mismatch}`);
    return result as Answer<K>;
  }
  const { code = "INTERNAL_ERROR", message = `${name} ended as ${status}`, details } = error ?? {};
  throw new ApiError({ code, message, status: 0, details: { ...details, operation_id: id } });
}
