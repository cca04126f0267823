import type { MessagePort } from "node:worker_threads";
import type { LogQuery } from "#domain/ports/journal.ts";
import { createCopies } from "./copies.ts";
import { compileGrep, searchFile } from "./grep-postings.ts";
import type { EntryList } from "./journal-file/entry-array.ts";
import { answerList, type ListAnswer, type ListQuestion } from "./lists.ts";
import { createOrdering, type Ordering } from "./ordering.ts";
import { type Across, answer } from "./query.ts";
import { createRegistry, type Fault, type RegistryOptions, type Root } from "./registry.ts";
import { createRenderer } from "./render.ts";
import { type Help, helpSearch, type SharedSearch } from "./shared-search.ts";
import type { Source } from "./source.ts";

export interface EngineOptions {
  readonly roots: readonly Root[];
  readonly onDamage?: (fault: Fault) => void;
  readonly beforeRead?: RegistryOptions["beforeRead"];
  readonly readable?: RegistryOptions["readable"];
  readonly help?: Help | undefined;
  readonly usage?: RegistryOptions["usage"];
}

/** The native reader: answers queries from the files, in this thread and at once. */
export interface Engine {
  /**
   * @returns the JSON of a LogList.
   * @throws LogQueryRefused, NoPermission
   */
  readonly query: (query: LogQuery) => Uint8Array;
  /** Lists boots, names of fields or their values. */
  readonly list: (question: ListQuestion) => ListAnswer;
  /** Searches files for another thread, which has asked for it. */
  readonly helpSearch: (search: SharedSearch, port: MessagePort) => void;
  /** The files that the last query left out, as only journalctl may know how to read them. */
  readonly foreign: () => readonly Source[];
  /** Whether the files of the last query hold an entry of one that it left out. */
  readonly holds: Ordering["holds"];
  readonly release: () => void;
  readonly dispose: () => void;
}

/** What follows from all files together. It is kept while they stay as they are: a source makes its list anew with each change. */
function createAcross(): (sources: readonly Source[]) => Across {
  const copiesOf = createCopies();
  let lists: readonly EntryList[] = [];
  let across = { copies: copiesOf([]), ordering: createOrdering([]) };
  return (sources) => {
    const current = sources.map((source) => source.all());
    if (current.length !== lists.length || current.some((list, position) => list !== lists[position])) {
      lists = current;
      across = { copies: copiesOf(sources), ordering: createOrdering(sources) };
    }
    return across;
  };
}

export function createEngine(options: EngineOptions): Engine {
  const { roots, onDamage = () => {}, beforeRead, readable, help, usage } = options;
  const registry = createRegistry(roots, onDamage, { beforeRead, readable, usage });
  const render = createRenderer();
  const acrossOf = createAcross();
  let sources: readonly Source[] = [];
  return {
    query(query) {
      sources = registry.refresh();
      return answer(sources, { ...acrossOf(sources), help }, query, render);
    },
    list(question) {
      sources = registry.refresh();
      return answerList(sources, acrossOf(sources).ordering, question);
    },
    helpSearch(search, port) {
      const expression = compileGrep(search.pattern);
      helpSearch(search, registry.refresh(), { searchFile: (source) => searchFile(source, expression), port });
    },
    foreign: registry.foreign,
    holds: (...entry) => acrossOf(sources).ordering.holds(...entry),
    release: registry.release,
    dispose: registry.dispose,
  };
}
