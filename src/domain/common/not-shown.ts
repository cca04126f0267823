import type { NotShown } from "#contract/schema.ts";

/** The member of an answer that lacks something; none where nothing is lacking. */
export const notShown = (what: string, reason: string | undefined): { not_shown?: NotShown } =>
  reason === undefined ? {} : { not_shown: [{ what, reason }] };
