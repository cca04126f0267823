import type { Config } from "#config/load.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";

/** What the parts of the service are built from, besides the narrow ports of earlier parts. */
export interface PartContext {
  readonly config: Config;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Makes an id that sorts by time and that nothing else has. */
  readonly createId: () => string;
}

/** What a part does by itself. Each of these is called at most once. */
export interface Part {
  /** Begins, once the service listens; the service is ready when all parts have begun. */
  readonly start?: () => void | Promise<void>;
  /** Begins what nobody is to wait for, once the service is ready. */
  readonly ready?: () => void | Promise<void>;
  /** Ends what it does by itself, while the last requests are answered. */
  readonly stop?: () => void | Promise<void>;
  /** Closes what it has opened, after the last request. */
  readonly dispose?: () => void | Promise<void>;
}

/** The parts of a service, in the order in which they stand on each other. */
export interface Parts {
  readonly add: <T extends Part>(part: T) => T;
  readonly start: () => Promise<void>;
  readonly ready: () => Promise<void>;
  /** In reverse; resolves when all have ended. */
  readonly stop: () => Promise<void>;
  /** In reverse, one after the other. What cannot be closed is logged. */
  readonly dispose: () => Promise<void>;
}

export function createParts(log: Pick<Logger, "error">): Parts {
  const parts: Part[] = [];
  return {
    add(part) {
      parts.push(part);
      return part;
    },
    async start() {
      await Promise.all(parts.map(async (part) => part.start?.()));
    },
    async ready() {
      await Promise.all(parts.map(async (part) => part.ready?.()));
    },
    async stop() {
      await Promise.all(parts.toReversed().map(async (part) => part.stop?.()));
    },
    async dispose() {
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

/** Logs that a file could not be used, and what became of it. */
export const logSetAside =
  (log: Pick<Logger, "warn">, message: string) =>
  (error: unknown, aside?: string): void =>
    log.warn({ err: error, set_aside: aside ?? null }, message);
