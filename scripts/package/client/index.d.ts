import type { ApiError } from "./errors.js";
import type { Client, LongOperationName, OperationDetail, OperationEntry } from "./types.js";

export {
  type ChatEvent,
  type ChatOptions,
  type DiagnosisEvent,
  type DiagnosisOptions,
  streamChat,
  streamDiagnosis,
} from "./chat.js";
export { ApiError } from "./errors.js";
export { type LogStreamOptions, streamChecks, streamLogs, streamOperation, type Transport } from "./stream.js";
export type * from "./types.js";

export interface ClientOptions {
  /** Address of the service, such as `https://web-1.example:8470`. */
  readonly url: string;
  /** API key or token; not needed for public operations and with a client certificate. */
  readonly key?: string | undefined;
  readonly fetch?: typeof globalThis.fetch;
  /** Ends all calls of the client. */
  readonly signal?: AbortSignal;
}

/**
 * A client for all operations of the service. Calls throw {@link ApiError} when the service refuses, or for an answer that is not
 * its own; errors of `fetch` when it cannot be reached.
 */
export declare function createClient(options: ClientOptions): Client;

/** The input of a call. */
export type Input<K extends keyof Client> = Parameters<Client[K]>[0];

/** The answer to a call. */
export type Answer<K extends keyof Client> = Awaited<ReturnType<Client[K]>>;

/**
 * Begins an operation that outlives its request, without waiting. The same idempotency key begins nothing else.
 * @returns the operation, or the answer when the service needed none.
 * @throws ApiError when the service refuses; errors of `fetch` when it cannot be reached.
 */
export declare function beginOperation<K extends LongOperationName>(
  options: ClientOptions,
  name: K,
  input: NonNullable<Input<K>>,
  idempotencyKey: string,
): Promise<{ readonly operation: OperationEntry } | { readonly answer: unknown }>;

export interface FollowOptions extends ClientOptions {
  /** Called with the operation as it comes along, at least every ten seconds. */
  readonly onProgress?: (operation: OperationDetail) => void;
  /** Milliseconds that the service may be out of reach: an update may restart it, a rollback the host. Two minutes unless given. */
  readonly patienceMs?: number;
}

/**
 * Waits for the end of an operation, through lost connections and restarts of the service.
 * @returns it as it ended, whether it succeeded or not.
 * @throws ApiError when the service refuses; the error of `fetch` when it cannot be reached for too long; the reason of the signal.
 */
export declare function followOperation(options: FollowOptions, id: string): Promise<OperationDetail>;

/**
 * Carries out an operation that outlives its request: begins it exactly once, however often the connection breaks, and follows it
 * to its end.
 * @returns its answer.
 * @throws ApiError when the service refuses it or it fails, with `operation_id` in its details; else as {@link followOperation}.
 */
export declare function runOperation<K extends LongOperationName>(
  options: FollowOptions,
  name: K,
  input: NonNullable<Input<K>>,
): Promise<Answer<K>>;
