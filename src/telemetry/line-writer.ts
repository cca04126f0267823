import { writeSync } from "node:fs";
import { errnoCode } from "#kernel/errors.ts";

/** Text that may wait for a slow reader; then new lines are dropped. */
const maxWaitingBytes = 4 * 1024 * 1024;
const retryMs = 20;
const maxTries = 250;

export type LineWriter = ReturnType<typeof createLineWriter>;

/**
 * Writes lines to a file descriptor with one system call per turn of the event loop, at its end: a line is out before the next
 * request is handled. A full or closed pipe never blocks the service.
 */
export function createLineWriter(fd: number, write: typeof writeSync = writeSync) {
  let waiting: Buffer[] = [];
  let lines = "";
  let waitingBytes = 0;
  let dropped = 0;
  let isScheduled = false;

  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(flush);
  };

  function flush(): void {
    isScheduled = false;
    if (lines !== "") {
      const bytes = Buffer.from(lines);
      waiting.push(bytes);
      waitingBytes += bytes.length;
      lines = "";
    }
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      let written: number;
      try {
        written = write(fd, first);
      } catch (error) {
        if (errnoCode(error) === "EAGAIN") {
          setTimeout(schedule, retryMs).unref();
          return;
        }
        // The reader is gone (EPIPE), or the disk is full.
        dropped += waiting.length;
        waiting = [];
        waitingBytes = 0;
        return;
      }
      waitingBytes -= written;
      if (written === first.length) waiting.shift();
      else waiting[0] = first.subarray(written);
    }
  }

  return {
    write: (line: string): void => {
      if (waitingBytes > maxWaitingBytes) {
        dropped += 1;
        return;
      }
      lines += line;
      schedule();
    },
    flush,
    /** Writes synchronously, after all that waits. @throws Error when the output does not take it within some seconds. */
    writeNow: (line: string): void => {
      const before = dropped;
      lines += line;
      for (let tries = 0; tries < maxTries; tries += 1) {
        flush();
        if (dropped > before) throw new Error("cannot write a line: nobody reads the output, or the disk is full");
        if (waiting.length === 0) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      }
      throw new Error("cannot write a line: the output does not take it");
    },
    dropped: (): number => dropped,
  };
}
