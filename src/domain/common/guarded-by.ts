/**
 * What of a check counts after a guarded update: any change for the worse, or only a failure that lasts, as of resources, which
 * become short for many reasons.
 */
export type GuardedBy = "change" | "failure";
