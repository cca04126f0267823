import type { Config } from "#config/load.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";

export interface PartContext {
  readonly config: Config;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly createId: () => string;
}

export interface Part {
  /** Called once the service listens; it is ready when all parts have started. */
  readonly start?: () => void | Promise<void>;
  readonly ready?: () => void | Promise<void>;
  /** Ends background work, while the last requests are answered. */
  readonly stop?: () => void | Promise<void>;
  readonly dispose?: () => void | Promise<void>;
}

export function createParts(log: Pick<Logger, "error">, given: readonly Part[]) {
  const parts = [...given];
  return {
    add: <T extends Part>(part: T): T => {
      parts.push(part);
      return part;
    },
    start: async (): Promise<void> => {
      await Promise.all(parts.map(async (part) => part.start?.()));
    },
    ready: async (): Promise<void> => {
      await Promise.all(parts.map(async (part) => part.ready?.()));
    },
    stop: async (): Promise<void> => {
      await Promise.all(parts.toReversed().map(async (part) => part.stop?.()));
    },
    /** In reverse order, one by one; errors are logged. */
    dispose: async (): Promise<void> => {
      for (const part of parts.toReversed()) {
        try {
          await part.dispose?.();
        } catch (error) {
          log.error({ err: error }, "cannot close a part");
        }
      }
    },
  };
}

export type Parts = ReturnType<typeof createParts>;

export const logSetAside =
  (log: Pick<Logger, "warn">, message: string) =>
  (error: unknown, aside?: string): void =>
    log.warn({ err: error, set_aside: aside ?? null }, message);
