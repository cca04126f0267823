import type { LogQuery } from "#domain/ports/journal.ts";
import { answer } from "./query.ts";
import { createRegistry, type Fault, type Root } from "./registry.ts";
import { createRenderer } from "./render.ts";

export interface EngineOptions {
  readonly roots: readonly Root[];
  readonly onDamage?: (fault: Fault) => void;
}

/** The native reader: answers queries from the files, in this thread and at once. */
export interface Engine {
  /**
   * @returns the JSON of a LogList.
   * @throws LogQueryRefused, NeedsFallback, NoPermission
   */
  readonly query: (query: LogQuery) => Uint8Array;
  readonly release: () => void;
  readonly dispose: () => void;
}

export function createEngine({ roots, onDamage = () => {} }: EngineOptions): Engine {
  const registry = createRegistry(roots, onDamage);
  const render = createRenderer();
  return {
    query: (query) => answer(registry.refresh(), query, render),
    release: registry.release,
    dispose: registry.dispose,
  };
}
