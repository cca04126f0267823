import type { Scene } from "../scene.ts";

/** The demo takes a first one when all is set up. */
export const snapshots: Scene = {
  says: "each update has a snapshot before it, and a rollback returns to it",
};
