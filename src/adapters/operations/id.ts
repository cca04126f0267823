import { randomBytes } from "node:crypto";

/** What may be the name of an operation's folder: nothing that leads elsewhere. */
const shape = /^[0-9a-z][0-9a-z-]{0,63}$/;

export const isOperationId = (text: string): boolean => shape.test(text);

const randomLetters = 4;

/** `20260131-235959-999-1f2e3d4c`: the moment in UTC, so that ids sort by time, and what tells two of one moment apart. */
export function createOperationId(now: number): string {
  const moment = new Date(now).toISOString().replaceAll(/[-:Z]/g, "").replaceAll(/[T.]/g, "-");
  return `${moment}-${randomBytes(randomLetters).toString("hex")}`;
}
