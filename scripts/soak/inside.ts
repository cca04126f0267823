// Loaded into the service before its own program (`--import`): writes what cannot be seen from outside, a line of JSON each, to
// the file that STEWARD_SOAK_FILE names. Threads load it, too, as each has a heap of its own.
import { appendFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { threadId } from "node:worker_threads";
import type { InsideSample } from "./samples.ts";

const intervalMs = 10_000;
/** So many samples apart all garbage is collected, so that what is left is what is kept. */
const samplesPerCollection = 3;

const file = process.env["STEWARD_SOAK_FILE"];
if (file !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("cannot collect garbage: this Node has no gc()");
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    const isCollected = count % samplesPerCollection === 0;
    const loop = { loopP99Ms: delay.percentile(99) / 1e6, loopMaxMs: delay.max / 1e6 };
    if (isCollected) collect();
    const { heapUsed: heapBytes, external: externalBytes } = process.memoryUsage();
    delay.reset();
    const sample: InsideSample = { at: Date.now(), thread: threadId, ...loop, heapBytes, externalBytes, isCollected };
    appendFileSync(file, `${JSON.stringify(sample)}\n`);
  }, intervalMs);
  timer.unref();
}
