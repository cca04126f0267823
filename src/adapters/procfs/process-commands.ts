import { closeSync, openSync, read } from "node:fs";
import { promisify } from "node:util";
import type { Processes, ProcessId } from "#domain/ports/processes.ts";
import type { Clock } from "#kernel/clock.ts";
import { isProcessOutOfReach } from "#kernel/errors.ts";
import { parseCommand } from "./process-stat.ts";

const readInto = promisify(read);

/** What is read of a command line. */
const maxBytes = 32 * 1024;
/** The kernel waits for the memory of a process, which one that hangs may hold: of the four threads of Node two may be lost so. */
const readsAtOnce = 2;
const patienceMs = 500;
/** For each of many, on a busy host. */
const patienceEachMs = 1;

interface Job {
  readonly id: ProcessId;
  readonly done: (text: string | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** Only the read waits for the process: to open and close the file in a thread, too, takes three times the processor time. */
async function readCommand(path: string, buffer: Buffer): Promise<string> {
  const handle = openSync(path, "r");
  try {
    // The kernel gives it whole where there is space.
    const { bytesRead } = await readInto(handle, buffer, 0, buffer.length, null);
    const text = parseCommand(buffer.toString("utf8", 0, bytesRead));
    // The last word may be a part of a secret.
    return bytesRead < buffer.length ? text : text.slice(0, Math.max(0, text.lastIndexOf(" ")));
  } finally {
    closeSync(handle);
  }
}

/** Reads command lines, of which some may never come. */
export function createCommandReader(ports: { readonly procDir: string; readonly clock: Pick<Clock, "sleep"> }) {
  const { procDir, clock } = ports;
  /** Those that are being read, so that a process that hangs takes one thread. */
  const reading = new Set<string>();
  const free: Buffer[] = [];
  let waiting: Job[] = [];
  let at = 0;

  const begin = (job: Job): void => {
    const { pid, startTicks } = job.id;
    const key = `${pid} ${startTicks}`;
    if (reading.has(key)) {
      job.done(undefined);
      return;
    }
    reading.add(key);
    const buffer = free.pop() ?? Buffer.allocUnsafe(maxBytes);
    readCommand(`${procDir}/${pid}/cmdline`, buffer)
      .then(job.done, (error: unknown) => (isProcessOutOfReach(error) ? job.done(undefined) : job.fail(error)))
      .finally(() => {
        reading.delete(key);
        free.push(buffer);
        beginNext();
      });
  };

  const beginNext = (): void => {
    while (reading.size < readsAtOnce) {
      const next = waiting[at];
      if (next === undefined) return;
      at += 1;
      begin(next);
    }
  };

  return {
    async read(processes: Parameters<Processes["commands"]>[0]): Promise<ReadonlyMap<number, string>> {
      const found = new Map<number, string>();
      const ids = processes.filter(({ isKernelThread }) => !isKernelThread);
      for (const { pid, isKernelThread } of processes) if (isKernelThread) found.set(pid, "");
      if (ids.length === 0) return found;
      const { promise: all, resolve, reject } = Promise.withResolvers<void>();
      let left = ids.length;
      const jobs = ids.map(
        (id): Job => ({
          id,
          done(text) {
            if (text !== undefined) found.set(id.pid, text);
            left -= 1;
            if (left === 0) resolve();
          },
          fail: reject,
        }),
      );
      waiting.push(...jobs);
      beginNext();
      const over = new AbortController();
      try {
        await Promise.race([all, clock.sleep(patienceMs + ids.length * patienceEachMs, over.signal)]);
        return new Map(found);
      } finally {
        over.abort();
        const own = new Set(jobs);
        waiting = waiting.slice(at).filter((job) => !own.has(job));
        at = 0;
      }
    },
  };
}
