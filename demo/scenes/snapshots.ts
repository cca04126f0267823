import type { Scene } from "../scene.ts";

/** The host is on btrfs with snapper, as the test host is; the demo takes a first one when all is set up. */
export const snapshots: Scene = {
  says: "btrfs with snapper: each update has a snapshot before it, and a rollback leads back with the next boot",
};
