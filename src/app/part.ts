import type { PassedSockets } from "#adapters/local-sockets/index.ts";
import type { Config } from "#config/load.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Logger, Logs } from "#telemetry/logger.ts";
import type { Metrics } from "#telemetry/metrics.ts";

/** What every part may have; all else is an earlier part, or an adapter of its own. */
export interface PartContext {
  readonly config: Config;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly requestLog: Logs["requestLog"];
  readonly metrics: Metrics;
  readonly createId: () => string;
  readonly hostName: () => string;
  readonly isSafeMode: boolean;
  /** Whether to make a further admin key, and to replace a lost key store. */
  readonly newAdminKey: boolean;
  /** Sockets that the service manager has opened. */
  readonly passed: PassedSockets | undefined;
}

export interface Part {
  /** Called once the service listens; it is ready when all parts have started. */
  readonly start?: () => void | Promise<void>;
  readonly ready?: () => void | Promise<void>;
  /** Takes new settings. @returns fields for the log line of the reload, if it has any. */
  readonly reload?: (next: Config) => unknown;
  /** Ends background work, while the last requests are answered. */
  readonly stop?: () => void | Promise<void>;
  readonly dispose?: () => void | Promise<void>;
}

type Made = (Part & object) | undefined;

/** Makes a part of the context, of the earlier parts that it names, and of adapters: those of this host, unless others are given. */
type PartFunction<Earlier> = (context: PartContext, earlier: Earlier, adapters?: undefined) => Made | Promise<Made>;

export type PartFunctions = Readonly<
  Record<string, (context: PartContext, earlier: never, adapters?: never) => unknown>
>;

export type Parts<L extends PartFunctions> = { readonly [Name in keyof L]: Awaited<ReturnType<L[Name]>> };

type AdaptersOf<F> = F extends (context: never, earlier: never, adapters?: infer A) => unknown ? A : never;

/** Of all parts that have some. */
type Adapters<L extends PartFunctions> = {
  readonly [Name in keyof L as unknown extends AdaptersOf<L[Name]> ? never : Name]: AdaptersOf<L[Name]>;
};

export type AdaptersOfList<List> = List extends PartList<infer L> ? Adapters<L> : never;

export interface PartList<L extends PartFunctions> {
  /** A part that names one that is not before it in the list does not compile. */
  readonly add: <Name extends string, F extends PartFunction<Parts<L>>>(
    name: Name,
    make: F,
  ) => PartList<L & Readonly<Record<Name, F>>>;
  /** Makes all parts, in the order of the list. */
  readonly build: (context: PartContext, adapters?: Adapters<L>) => Promise<Parts<L>>;
}

type Step = readonly [name: string, make: (context: PartContext, earlier: object, adapters: unknown) => unknown];

function listOf(steps: readonly Step[]) {
  return {
    add: (...step: Step) => listOf([...steps, step]),
    async build(context: PartContext, adapters: Readonly<Record<string, unknown>> = {}) {
      const parts: Record<string, unknown> = {};
      for (const [name, make] of steps) parts[name] = await make(context, parts, adapters[name]);
      return parts;
    },
  };
}

export const noParts = listOf([]) as unknown as PartList<Record<never, never>>;

type Intersection<T> = (T extends unknown ? (each: T) => void : never) extends (all: infer All) => void ? All : never;

type HandlersOf<P> = Intersection<
  { [Name in keyof P]: P[Name] extends { readonly handlers: infer H } ? H : never }[keyof P]
>;

/** The handlers of all parts, in one object. */
export const handlersOf = <P extends object>(parts: P): HandlersOf<P> =>
  Object.assign({}, ...Object.values(parts).map((part) => part?.handlers)) as HandlersOf<P>;

/** What is called of all parts, in their order. */
export function lifecycleOf(list: Readonly<Record<string, Made>>, log: Pick<Logger, "error">) {
  const parts = Object.values(list).filter((part) => part !== undefined);
  return {
    start: async (): Promise<void> => {
      await Promise.all(parts.map(async (part) => part.start?.()));
    },
    ready: async (): Promise<void> => {
      await Promise.all(parts.map(async (part) => part.ready?.()));
    },
    /** One by one. @returns the fields for the log line. */
    reload: async (next: Config): Promise<object> => {
      const fields = {};
      for (const part of parts) Object.assign(fields, await part.reload?.(next));
      return fields;
    },
    /** In reverse order, like dispose. */
    stop: async (): Promise<void> => {
      await Promise.all(parts.toReversed().map(async (part) => part.stop?.()));
    },
    /** One by one; errors are logged. */
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

/** How a store in the state directory is opened that is moved aside and reset where it is corrupt. */
export const storeOptions = ({ config, log }: Pick<PartContext, "config" | "log">, message: string) => ({
  stateDir: config.stateDir,
  onTrouble: (error: unknown, aside?: string): void => log.warn({ err: error, moved_aside: aside ?? null }, message),
});
