import { toError } from "#kernel/errors.ts";

export interface CollectorPorts {
  readonly onSpans: (result: "exported" | "dropped", count: number) => void;
  /** The first failure after success. */
  readonly onLost: (error: unknown) => void;
  readonly onBack: () => void;
}

interface Exporter<Payload> {
  export(payload: Payload, done: (result: { code: number; error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

/** @param calmMs how long the collector has to work before `onBack`. */
export function createCollector<Payload>(
  connect: () => Exporter<Payload>,
  { onLost, onBack }: Pick<CollectorPorts, "onLost" | "onBack">,
  calmMs: number,
) {
  let exporter = connect();
  let lostAtMs: number | undefined;
  // Its errors have been reported with the last result.
  const shutdown = (): void => void exporter.shutdown().catch(() => undefined);
  return {
    /** @returns why the collector did not accept it. */
    send: (payload: Payload): Promise<Error | undefined> =>
      new Promise((resolve) => {
        try {
          exporter.export(payload, ({ code, error }) =>
            resolve(code === 0 ? undefined : (error ?? new Error("no answer"))),
          );
        } catch (error) {
          resolve(toError(error));
        }
      }),
    /** Takes a new exporter after each failure: one that reconnects by itself may wait for minutes. */
    judge(error: Error | undefined): void {
      if (error !== undefined) {
        if (lostAtMs === undefined) onLost(error);
        lostAtMs = performance.now();
        shutdown();
        exporter = connect();
      } else if (lostAtMs !== undefined && performance.now() - lostAtMs >= calmMs) {
        lostAtMs = undefined;
        onBack();
      }
    },
    /** Waits for the last work, unless the collector has just failed: then there is no point. */
    async finish(work: () => Promise<void> | undefined, closeMs: number): Promise<void> {
      if (lostAtMs !== undefined) return;
      const late = Promise.withResolvers<void>();
      const deadline = setTimeout(late.resolve, closeMs);
      await Promise.race([work(), late.promise]);
      clearTimeout(deadline);
    },
    shutdown,
  };
}
