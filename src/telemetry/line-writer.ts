import { writeSync } from "node:fs";
import { errnoCode } from "#kernel/errors.ts";

/** Text that waits for a reader who does not read; beyond it the newest lines are dropped. */
const maxWaitingBytes = 4 * 1024 * 1024;
const retryMs = 20;
/** How long a line that has to be out is tried to be written. */
const maxTries = 250;

/** Where log lines go. */
export interface LineWriter {
  readonly write: (line: string) => void;
  /** Writes what waits, now. */
  readonly flush: () => void;
  /** Writes a line before it returns, and what waits before it. @throws Error when nobody takes it within some seconds. */
  readonly writeNow: (line: string) => void;
  /** Lines lost because nobody read the output. */
  readonly dropped: () => number;
}

/**
 * Writes lines to a file descriptor: all lines of one turn of the event loop with one call to the kernel, at the
 * end of that turn. A line is thus out before the next request is looked at, and a busy service does not pay a
 * call for each. A pipe that is full or closed never stops the service.
 */
export function createLineWriter(fd: number, write: typeof writeSync = writeSync): LineWriter {
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
        // Nobody will ever read it (EPIPE), or the disk behind it is full: what waits cannot be kept.
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
    write(line) {
      if (waitingBytes > maxWaitingBytes) {
        dropped += 1;
        return;
      }
      lines += line;
      schedule();
    },
    flush,
    writeNow(line) {
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
    dropped: () => dropped,
  };
}
