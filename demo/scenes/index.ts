import type { Scene } from "../scene.ts";
import { busyJournal } from "./busy-journal.ts";
import { failedUnit } from "./failed-unit.ts";
import { fullDisk } from "./full-disk.ts";
import { model } from "./model.ts";
import { plugin } from "./plugin.ts";
import { securityUpdate } from "./security-update.ts";
import { silence } from "./silence.ts";
import { snapshots } from "./snapshots.ts";

/** What is set up, in this order. */
export const scenes: readonly Scene[] = [
  securityUpdate,
  failedUnit,
  fullDisk,
  busyJournal,
  model,
  plugin,
  snapshots,
  silence,
];
