import type { Scene } from "../scene.ts";

/** Nobody is notified of the full disk for two hours. */
export const silence: Scene = {
  says: "the alert DiskSpaceLow is silenced for two hours",
  async serve({ api }) {
    const until = new Date(Date.now() + 2 * 3_600_000).toISOString();
    await api.silenceAlert({ body: { alert: "DiskSpaceLow", until, comment: "known: the package cache" } });
  },
};
