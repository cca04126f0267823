import type { MessagePort } from "node:worker_threads";
import type { UnreadFiles } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import { unreadOf } from "#domain/logs/unread.ts";
import {
  anyEntries,
  type ExportPart,
  type ExportQuery,
  type Lacking,
  type ListedEntries,
  type LogFilters,
  type LogQuery,
} from "#domain/ports/journal.ts";
import { listBoots } from "./boots.ts";
import { answerContext } from "./context.ts";
import { createCopies } from "./copies.ts";
import { answerExport, createExporter } from "./export.ts";
import { answerFacets } from "./facets.ts";
import { compileGrep, searchFile } from "./grep-postings.ts";
import { answerHistogram } from "./histogram.ts";
import type { EntryList } from "./journal-file/entry-array.ts";
import { listFieldNames, listValues } from "./lists.ts";
import { createOrdering } from "./ordering.ts";
import type { Answers, Ask } from "./protocol.ts";
import { type Across, answer, mayHave } from "./query.ts";
import { createRegistry, type Fault, NoPermission, type RegistryOptions, type Root } from "./registry.ts";
import { createRenderer } from "./render.ts";
import { type Help, helpSearch, type SharedSearch } from "./shared-search.ts";
import type { Source } from "./source.ts";
import { answerTemplates } from "./templates/answer.ts";
import { errorsSince } from "./templates/grouping.ts";
import { createKnownTemplates, findTemplate } from "./templates/known-templates.ts";
import { createLearner } from "./templates/learning.ts";
import { createMemoryReader } from "./templates/memory.ts";

export interface EngineOptions {
  readonly roots: readonly Root[];
  readonly onDamage?: (fault: Fault) => void;
  readonly beforeRead?: RegistryOptions["beforeRead"];
  readonly help?: Help | undefined;
  readonly usage?: RegistryOptions["usage"];
  /** Where templates are remembered; undefined: nowhere. */
  readonly templatesFile?: string | undefined;
}

/** Answers queries from the files, in this thread and at once. */
export interface Engine {
  /**
   * @returns the JSON of a LogList.
   * @throws LogQueryRefused, NoPermission
   */
  readonly query: (query: LogQuery) => Uint8Array;
  /** Counts and lists. @throws as `query`. */
  readonly ask: Ask;
  /** Writes a part of an export. @throws as `query`; JournalUnavailable where files with further entries were removed. */
  readonly export: (query: ExportQuery) => ExportPart;
  /** Remembers templates for so long. @returns whether nothing is left to do. @throws as `query`. */
  readonly learn: (budgetMs: number) => boolean;
  /** Searches files for another thread, which has asked for it. */
  readonly helpSearch: (search: SharedSearch, port: MessagePort) => void;
  readonly release: () => void;
  readonly dispose: () => void;
}

/** What follows from all files together. It is kept while they stay as they are: a source makes its list again with each change. */
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
  const { roots, onDamage = () => {}, beforeRead, help, usage, templatesFile } = options;
  const registry = createRegistry(roots, onDamage, { beforeRead, usage });
  const render = createRenderer();
  const exporter = createExporter();
  const acrossOf = createAcross();
  const memoryOf = createMemoryReader(templatesFile, onDamage);
  const templates = createKnownTemplates(memoryOf);
  const learn = templatesFile === undefined ? () => true : createLearner(templatesFile, memoryOf);
  let sources: readonly Source[] = [];
  /** The files of which the last answer may lack entries. @param window of the answer, if it has one. */
  const unread = (listed: ListedEntries, window?: Pick<LogFilters, "since" | "until">): UnreadFiles =>
    unreadOf(
      registry.unread((source) => window === undefined || mayHave(source, window)),
      listed,
    );
  /** Why there are no files among which the last ones were looked for. */
  const missing = ({ units, namespace }: ListedEntries): string | undefined => {
    if (sources.length > 0 || unread({ units, namespace }).length > 0) return undefined;
    if (registry.isEmpty()) return `there are no journal files in ${roots.map(({ path }) => path).join(" or ")}`;
    // A caller who sees some units only does not learn which namespaces there are.
    if (units !== undefined) return undefined;
    return namespace ? `there are no journal files of the namespace ${namespace}` : "the default journal has no files";
  };
  const acrossFor = ({ template, units }: Pick<LogFilters, "template" | "units">): Across => ({
    ...acrossOf(sources),
    help,
    ofTemplate: template === undefined ? undefined : findTemplate(templates.of(sources), template, units),
  });
  /** Answers from the files that are there now. */
  const answering =
    <Q extends ListedEntries, T extends object>(
      read: (query: Q) => T,
      windowOf: (query: Q) => Pick<LogFilters, "since" | "until"> | undefined = () => undefined,
    ) =>
    (query: Q): T & Lacking => {
      sources = registry.refresh(query.namespace);
      return { ...read(query), unread: unread(query, windowOf(query)) };
    };
  const query: Engine["query"] = (asked) => {
    sources = registry.refresh(asked.namespace);
    const lacks = () => ({ missing: missing(asked), unread: unread(asked, asked) });
    return answer(sources, acrossFor(asked), asked, { render, lacks });
  };
  const answers: Answers = {
    histogram: answering(
      (asked) => answerHistogram(sources, acrossFor(asked), asked),
      (asked) => asked,
    ),
    facets: answering(
      (asked) => answerFacets(sources, acrossFor(asked), asked),
      (asked) => asked,
    ),
    templates: answering(
      (asked) => answerTemplates(templates.of(sources), sources, acrossFor(asked), asked),
      (asked) => (asked.before === undefined ? asked : undefined),
    ),
    context: (asked) =>
      answerContext(asked, (page) => JSON.parse(Buffer.from(query(page)).toString("utf8")) as LogList),
    boots: answering(({ units }) => ({ boots: listBoots(sources, acrossOf(sources).ordering, units) })),
    names: answering(({ units }) => ({ names: listFieldNames(sources, units) })),
    values: answering(({ name, units }) => listValues(sources, name, units)),
    missing(listed) {
      sources = registry.refresh(listed.namespace);
      return missing(listed);
    },
    errors({ since }) {
      try {
        registry.refresh("*");
      } catch (error) {
        // What is remembered is known without the files.
        if (!(error instanceof NoPermission)) throw error;
      }
      return { ...errorsSince(memoryOf(), since), unread: unread(anyEntries) };
    },
  };
  return {
    query,
    ask: ({ what, query: asked }) => answers[what](asked),
    export: answering(
      (asked) => answerExport(sources, acrossFor(asked), asked, exporter),
      (asked) => asked,
    ),
    learn: (budgetMs) => learn(registry.refresh("*"), budgetMs),
    helpSearch(search, port) {
      const expression = compileGrep(search.pattern);
      helpSearch(search, registry.refresh("*"), { searchFile: (source) => searchFile(source, expression), port });
    },
    release: registry.release,
    dispose: registry.dispose,
  };
}
