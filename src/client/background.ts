import { operations } from "#contract/index.ts";
import type { Input, Operation } from "#contract/operation.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { isAccepted, readAnswer } from "./answer.ts";
import { type ClientOptions, request } from "./index.ts";

type Table = typeof operations;

export type LongOperationName = {
  readonly [K in keyof Table]: Table[K] extends { readonly outlives: true } ? K : never;
}[keyof Table];

/**
 * Begins an operation that outlives its request, without waiting. The same idempotency key begins nothing else.
 * @returns the operation, or the answer when the service needed none.
 * @throws ApiError when the service refuses; errors of `fetch` when it cannot be reached.
 */
export async function beginOperation<K extends LongOperationName>(
  options: ClientOptions,
  name: K,
  input: Partial<Input<Table[K]>>,
  idempotencyKey: string,
): Promise<{ readonly operation: OperationEntry } | { readonly answer: unknown }> {
  const row: Operation = operations[name];
  const headers = { Prefer: "respond-async", "Idempotency-Key": idempotencyKey };
  const response = await request(options, row, { ...input }, headers);
  const body = await readAnswer(row, input, response);
  return isAccepted(row, response) ? { operation: body as OperationEntry } : { answer: body };
}
