import { randomBytes } from "node:crypto";

export const directoriesName = "operations";
export const specName = "spec.json";
export const stateName = "state.json";
export const cancelName = "cancel";
const claimShape = /^claim\.([1-9]\d{0,8})$/;

export const claimName = (number: number): string => `claim.${number}`;

export const newestClaim = (names: readonly string[]): number =>
  Math.max(0, ...names.map((name) => Number(claimShape.exec(name)?.[1] ?? 0)));

export const nobody = { pid: 0, startTicks: 0, bootId: "" };

const operationIdShape = /^[0-9a-z][0-9a-z-]{0,63}$/;

export const isOperationId = (text: string): boolean => operationIdShape.test(text);

const randomLetters = 4;

/** `20260131-235959-999-1f2e3d4c`: the time in UTC, so that ids sort by time, and random letters that distinguish two of the same time. */
export function createOperationId(now: number): string {
  const timestamp = new Date(now).toISOString().replaceAll(/[-:Z]/g, "").replaceAll(/[T.]/g, "-");
  return `${timestamp}-${randomBytes(randomLetters).toString("hex")}`;
}
