import type { MessagePort } from "node:worker_threads";
import type { UnreadFiles } from "#contract/log-entry.ts";
import { unreadOf } from "#domain/logs/unread.ts";
import type { ExportPart, ExportQuery, ListedEntries, LogFilters, LogQuery } from "#domain/ports/journal.ts";
import { createCopies } from "./copies.ts";
import type { CountAnswer, CountQuestion } from "./exploration.ts";
import { answerExport, createExporter, requireFiles } from "./export.ts";
import { answerFacets } from "./facets.ts";
import { compileGrep, searchFile } from "./grep-postings.ts";
import { answerHistogram } from "./histogram.ts";
import type { EntryList } from "./journal-file/entry-array.ts";
import { answerList, type ListAnswer, type ListQuestion } from "./lists.ts";
import { createOrdering, type Ordering } from "./ordering.ts";
import { type Across, answer, mayHave } from "./query.ts";
import { createRegistry, type Fault, type RegistryOptions, type Root } from "./registry.ts";
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
  readonly readable?: RegistryOptions["readable"];
  readonly help?: Help | undefined;
  readonly usage?: RegistryOptions["usage"];
  /** Where templates are remembered; undefined: nowhere. */
  readonly templatesFile?: string | undefined;
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
  /** Counts entries. @throws as `query`. */
  readonly count: (question: CountQuestion) => CountAnswer;
  /**
   * Writes a part of an export. @throws as `query`.
   * @returns undefined where there are files that only journalctl may know how to read.
   */
  readonly export: (query: ExportQuery) => ExportPart | undefined;
  /** Ids of the files, as of the last export, that may have entries from this time on, in microseconds. */
  readonly filesFrom: (realtime: number) => readonly string[];
  /** Remembers templates for so long. @returns whether nothing is left to do. @throws as `query`. */
  readonly learn: (budgetMs: number) => boolean;
  readonly rememberedErrors: (since: number) => ReturnType<typeof errorsSince>;
  /** Searches files for another thread, which has asked for it. */
  readonly helpSearch: (search: SharedSearch, port: MessagePort) => void;
  /**
   * The files of which the last answer may lack entries.
   * @param window of the answer, if it has one.
   */
  readonly unread: (listed: ListedEntries, window?: Pick<LogFilters, "since" | "until">) => UnreadFiles;
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
  const { roots, onDamage = () => {}, beforeRead, readable, help, usage, templatesFile } = options;
  const registry = createRegistry(roots, onDamage, { beforeRead, readable, usage });
  const render = createRenderer();
  const exporter = createExporter();
  const acrossOf = createAcross();
  const memoryOf = createMemoryReader(templatesFile, onDamage);
  const templates = createKnownTemplates(memoryOf);
  const learn = templatesFile === undefined ? () => true : createLearner(templatesFile, memoryOf);
  let sources: readonly Source[] = [];
  const unread: Engine["unread"] = (listed, window) =>
    unreadOf(
      registry.unread((source) => window === undefined || mayHave(source, window)),
      listed,
    );
  /** Why there are no files among which the last ones were looked for. */
  const missing = ({ units, namespace }: ListedEntries): string | undefined => {
    if (sources.length > 0 || registry.foreign().length > 0) return undefined;
    if (unread({ units, namespace }).length > 0) return undefined;
    if (registry.isEmpty()) return `there are no journal files in ${roots.map(({ path }) => path).join(" or ")}`;
    // Which namespaces there are is not told to who sees some units only.
    if (units !== undefined) return undefined;
    return namespace ? `there are no journal files of the namespace ${namespace}` : "the default journal has no files";
  };
  const acrossFor = ({ template, units }: Pick<LogFilters, "template" | "units">): Across => ({
    ...acrossOf(sources),
    help,
    ofTemplate: template === undefined ? undefined : findTemplate(templates.of(sources), template, units),
  });
  return {
    query(query) {
      sources = registry.refresh(query.namespace);
      return answer(sources, acrossFor(query), query, {
        render,
        lacks: () => ({ missing: missing(query), unread: unread(query, query) }),
      });
    },
    list(question) {
      sources = registry.refresh(question.namespace);
      if (question.what === "missing") return { what: "missing", reason: missing(question) };
      return answerList(sources, acrossOf(sources).ordering, question);
    },
    count(question) {
      sources = registry.refresh(question.query.namespace);
      const across = acrossFor(question.query);
      switch (question.what) {
        case "histogram":
          return { what: question.what, counts: answerHistogram(sources, across, question.query) };
        case "facets":
          return { what: question.what, counts: answerFacets(sources, across, question.query) };
        case "templates":
          return {
            what: question.what,
            counts: answerTemplates(templates.of(sources), sources, across, question.query),
          };
      }
    },
    export(query) {
      sources = registry.refresh(query.namespace);
      const foreign = registry.foreign();
      if (foreign.length === 0)
        return { ...answerExport(sources, acrossFor(query), query, exporter), unread: unread(query, query) };
      requireFiles(query.position, [...sources, ...foreign]);
      return undefined;
    },
    filesFrom: (realtime) =>
      [...sources, ...registry.foreign()].flatMap(({ id, file }) => (file.header.tailRealtime >= realtime ? [id] : [])),
    learn: (budgetMs) => learn(registry.refresh("*"), budgetMs),
    rememberedErrors: (since) => errorsSince(memoryOf(), since),
    helpSearch(search, port) {
      const expression = compileGrep(search.pattern);
      helpSearch(search, registry.refresh("*"), { searchFile: (source) => searchFile(source, expression), port });
    },
    unread,
    foreign: registry.foreign,
    holds: (...entry) => acrossOf(sources).ordering.holds(...entry),
    release: registry.release,
    dispose: registry.dispose,
  };
}
