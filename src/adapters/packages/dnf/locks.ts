import type { LockTable } from "../apt/locks.ts";
import { createPidLocks } from "../rpm/locks.ts";

/** Programs that change packages with the locks of dnf. */
const programs = ["dnf", "dnf-3", "dnf-automatic", "yum", "microdnf", "packagekitd"];

export const createDnfLocks = (): LockTable => createPidLocks(programs);
