/** Names of the parts of an operation's record, below the folder that holds all records. */
export const foldersName = "operations";
export const specName = "spec.json";
export const stateName = "state.json";
const claimShape = /^claim\.([1-9]\d{0,8})$/;

export const claimName = (number: number): string => `claim.${number}`;

/** The highest number that is claimed among these names; 0 for none. */
export const newestClaim = (names: readonly string[]): number =>
  Math.max(0, ...names.map((name) => Number(claimShape.exec(name)?.[1] ?? 0)));

/** Who is nobody that can be found at work: no process has number 0. */
export const nobody = { pid: 0, startTicks: 0, bootId: "" };
