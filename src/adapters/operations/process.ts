import { isRunning, readBootId, statOf } from "#adapters/exec/proc.ts";
import { type ErrorCode, isErrorCode } from "#contract/errors.ts";
import { type OperationError, type OperationStatus, operationStatuses } from "#contract/operation-entry.ts";
import type { OperationSpec, OperationState, ProcessIdentity } from "#domain/ports/operations.ts";
import { isCount, isRecord, isString, parseJsonObject } from "#kernel/values.ts";

const isTime = (value: unknown): value is number | null => value === null || isCount(value);
const isNullableText = (value: unknown): value is string | null => value === null || isString(value);
const isStatus = (value: unknown): value is OperationStatus => operationStatuses.some((status) => status === value);
const cancelStates = ["open", "closing", "closed"] as const;
const isCode = (value: unknown): value is ErrorCode => isString(value) && isErrorCode(value);

export function parseSpec(text: string): OperationSpec | undefined {
  const { id, kind, input, createdAt, keyId, idempotencyKey, traceparent, planned } = parseJsonObject(text) ?? {};
  if (!isString(id) || !isString(kind) || !isCount(createdAt)) return undefined;
  if (!isNullableText(keyId) || !isNullableText(idempotencyKey)) return undefined;
  const parent = isString(traceparent) ? { traceparent } : {};
  if (planned !== undefined && !(Array.isArray(planned) && planned.every(isString))) return undefined;
  const agreed = planned === undefined ? {} : { planned };
  return { id, kind, input: input ?? null, createdAt, keyId, idempotencyKey, ...agreed, ...parent };
}

function parseError(value: unknown): OperationError | null | undefined {
  if (value === null) return null;
  if (!isRecord(value)) return undefined;
  const { code, message, details } = value;
  if (!isCode(code) || !isString(message)) return undefined;
  return { code, message, ...(isRecord(details) && { details }) };
}

export function parseState(text: string): OperationState | undefined {
  const { status, percent, step, startedAt, finishedAt, phase, result, ...rest } = parseJsonObject(text) ?? {};
  const error = parseError(rest["error"]);
  if (!isStatus(status) || !isCount(percent) || !isString(step) || error === undefined) return undefined;
  if (!isTime(startedAt) || !isTime(finishedAt)) return undefined;
  const cancel = cancelStates.find((each) => each === rest["cancel"]);
  const known = { status, percent, step, startedAt, finishedAt, phase: phase ?? null, result: result ?? null, error };
  const stepEndsAt = rest["stepEndsAt"];
  return { ...known, ...(isCount(stepEndsAt) && { stepEndsAt }), ...(cancel !== undefined && { cancel }) };
}

export function parseProcess(text: string): ProcessIdentity | undefined {
  const { pid, startTicks, bootId } = parseJsonObject(text) ?? {};
  return isCount(pid) && isCount(startTicks) && isString(bootId) ? { pid, startTicks, bootId } : undefined;
}

export function ownProcess(): ProcessIdentity {
  const stat = statOf(process.pid);
  if (stat === undefined) throw new Error("cannot tell this process from others: /proc does not show it");
  return { pid: process.pid, startTicks: stat.startTicks, bootId: readBootId() };
}

export const isAlive = ({ bootId: boot, ...process }: ProcessIdentity): boolean =>
  isRunning(process) && readBootId() === readBootId(boot);
