import { createPidLocks, type LockTable } from "../common/locks.ts";

const programs = ["dnf", "dnf-3", "dnf-automatic", "yum", "microdnf", "packagekitd"];

export const createDnfLocks = (): LockTable => createPidLocks(programs);
