/** Waits for a time, or until the signal fires. */
export type Sleep = (durationMs: number, signal: AbortSignal | undefined) => Promise<void>;

/** {@link Sleep} by the clock. */
export function sleep(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, durationMs);
    signal?.addEventListener("abort", end);
  });
}
