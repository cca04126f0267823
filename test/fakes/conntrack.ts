import type { Conntrack } from "#domain/ports/kernel.ts";

/** @param usage undefined: no connections are tracked. */
export const createFakeConntrack = (usage?: Awaited<ReturnType<Conntrack["usage"]>>): Conntrack => ({
  usage: () => Promise.resolve(usage),
});
