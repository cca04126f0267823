import type { LogQuery } from "#domain/ports/journal.ts";
import { createCopies } from "./copies.ts";
import { answer } from "./query.ts";
import { createRegistry, type Fault, type RegistryOptions, type Root } from "./registry.ts";
import { createRenderer } from "./render.ts";

export interface EngineOptions {
  readonly roots: readonly Root[];
  readonly onDamage?: (fault: Fault) => void;
  readonly beforeRead?: RegistryOptions["beforeRead"];
  readonly readable?: RegistryOptions["readable"];
}

/** The native reader: answers queries from the files, in this thread and at once. */
export interface Engine {
  /**
   * @returns the JSON of a LogList.
   * @throws LogQueryRefused, NoPermission
   */
  readonly query: (query: LogQuery) => Uint8Array;
  /** Paths of the files that the last query left out, as only journalctl may know how to read them. */
  readonly foreign: () => readonly string[];
  readonly release: () => void;
  readonly dispose: () => void;
}

export function createEngine({ roots, onDamage = () => {}, beforeRead, readable }: EngineOptions): Engine {
  const registry = createRegistry(roots, onDamage, { beforeRead, readable });
  const render = createRenderer();
  const copiesOf = createCopies();
  return {
    query(query) {
      const sources = registry.refresh();
      return answer(sources, copiesOf(sources), query, render);
    },
    foreign: () => registry.foreign().map(({ path }) => path),
    release: registry.release,
    dispose: registry.dispose,
  };
}
