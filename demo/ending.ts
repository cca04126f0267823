import { once } from "node:events";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** As long as nobody says how long, it is a day. */
const usualMinutes = 24 * 60;

/** Settles when somebody ends the process, or its time is over. */
export async function ending(minutes: number = usualMinutes): Promise<void> {
  const time = Promise.withResolvers<void>();
  // Waiting for a signal alone does not keep a process alive.
  const timer = setTimeout(() => time.resolve(), minutes * 60_000);
  const over = new AbortController();
  const signalled = signals.map((each) => once(process, each, { signal: over.signal }));
  for (const each of signalled) each.catch(() => undefined);
  await Promise.race([time.promise, ...signalled]);
  over.abort();
  clearTimeout(timer);
}

/** Has signals do nothing: Ctrl-C comes twice where npm passes it on as well, and what is being removed is removed in order. */
export function endOnce(): void {
  for (const signal of signals) process.on(signal, () => undefined);
}

/** Has a signal end the process at once. @returns what takes that back. */
export function endAtOnce(code: number): () => void {
  const end = (): never => process.exit(code);
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.removeListener(signal, end);
  };
}
