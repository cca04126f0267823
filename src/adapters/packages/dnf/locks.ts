import { createPidLocks, type LockTable } from "../common/locks.ts";

/** Programs that change packages with the locks of dnf. */
const programs = ["dnf", "dnf-3", "dnf-automatic", "yum", "microdnf", "packagekitd"];

export const createDnfLocks = (): LockTable => createPidLocks(programs);
