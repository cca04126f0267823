import { randomBytes } from "node:crypto";

export const foldersName = "operations";
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

/** `20260131-235959-999-1f2e3d4c`: the moment in UTC, so that ids sort by time, and what tells two of one moment apart. */
export function createOperationId(now: number): string {
  const moment = new Date(now).toISOString().replaceAll(/[-:Z]/g, "").replaceAll(/[T.]/g, "-");
  return `${moment}-${randomBytes(randomLetters).toString("hex")}`;
}
