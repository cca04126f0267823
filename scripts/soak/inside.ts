// Loaded into the service before its own program (`--import`): writes what cannot be seen from outside, a line of JSON each, to
// the file that STEWARD_SOAK_FILE names.
import { appendFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

const intervalMs = 10_000;
/** So many samples apart all garbage is collected, so that what is left is what is kept. */
const samplesPerCollection = 3;

const file = process.env["STEWARD_SOAK_FILE"];
if (isMainThread && file !== undefined) {
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
    appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...loop, heapBytes, externalBytes, isCollected })}\n`);
  }, intervalMs);
  timer.unref();
}
