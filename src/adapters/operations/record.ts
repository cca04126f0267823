import { randomBytes } from "node:crypto";

export const foldersName = "operations";
export const specName = "spec.json";
export const stateName = "state.json";
const claimShape = /^claim\.([1-9]\d{0,8})$/;

export const claimName = (number: number): string => `claim.${number}`;

export const newestClaim = (names: readonly string[]): number =>
  Math.max(0, ...names.map((name) => Number(claimShape.exec(name)?.[1] ?? 0)));

/** Who is nobody that can be found at work: no process has number 0. */
export const nobody = { pid: 0, startTicks: 0, bootId: "" };

/** What may be the name of an operation's folder: nothing that leads elsewhere. */
const operationIdShape = /^[0-9a-z][0-9a-z-]{0,63}$/;

export const isOperationId = (text: string): boolean => operationIdShape.test(text);

const randomLetters = 4;

/** `20260131-235959-999-1f2e3d4c`: the moment in UTC, so that ids sort by time, and what tells two of one moment apart. */
export function createOperationId(now: number): string {
  const moment = new Date(now).toISOString().replaceAll(/[-:Z]/g, "").replaceAll(/[T.]/g, "-");
  return `${moment}-${randomBytes(randomLetters).toString("hex")}`;
}

/** Where a service without rights puts what it asks of root, and root what it answers. One folder is not the other's. */
export interface AskPlaces {
  readonly runDir: string;
  /** Root's, which the group of the service may read. */
  readonly answersDir: string;
}

export const asksName = "asks";
export const askName = (id: string): string => `${id}.json`;
export const cancelName = (id: string): string => `${id}.cancel`;
export const answerName = (id: string): string => `${id}.json`;
/** What the host lacks for an operation that root could not even write down. */
export const failureName = (id: string): string => `failure-${id}.json`;

const askIdShape = /^ask-[0-9a-f]{32}$/;
export const isAskId = (text: string): boolean => askIdShape.test(text);

/** More than anything that is asked, or answered, takes. */
export const maxAskBytes = 4 * 1024 * 1024;
export const maxAnswerBytes = 32 * 1024 * 1024;

/** The unit that does what is asked; the policy of the package lets the service start it, and not more. */
export const taskUnit = (id: string): string => `steward-task@${id}.service`;
