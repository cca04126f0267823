import type { LogList } from "#contract/logs.ts";
import type {
  ContextQuery,
  FacetQuery,
  HistogramQuery,
  Lacking,
  LogCounts,
  LogFacetCounts,
  LogQuery,
  LogTemplateCounts,
  TemplateQuery,
} from "#domain/ports/journal.ts";
import { answerContext } from "./context.ts";

/** What is counted in the journal by what entries say of themselves, which journalctl prints too. */
export type FieldCountQuestion =
  | { readonly what: "histogram"; readonly query: HistogramQuery }
  | { readonly what: "facets"; readonly query: FacetQuery };

export type FieldCountAnswer =
  | { readonly what: "histogram"; readonly counts: LogCounts }
  | { readonly what: "facets"; readonly counts: LogFacetCounts };

/** What is counted in the journal. */
export type CountQuestion = FieldCountQuestion | { readonly what: "templates"; readonly query: TemplateQuery };

export type CountAnswer = FieldCountAnswer | { readonly what: "templates"; readonly counts: LogTemplateCounts };

/** What is asked of the journal beside its entries and lists. */
export type Exploration = CountQuestion | { readonly what: "context"; readonly query: ContextQuery };

/** `json` is a LogContext; undefined where there is no such entry. */
export type Explored = (CountAnswer & Lacking) | { readonly what: "context"; readonly json: Uint8Array | undefined };

/** Answers with what reads and counts entries. */
export async function explore(
  question: Exploration,
  {
    query,
    count,
  }: {
    readonly query: (query: LogQuery) => Promise<Uint8Array>;
    readonly count: (question: CountQuestion) => Promise<CountAnswer & Lacking>;
  },
): Promise<Explored> {
  if (question.what !== "context") return count(question);
  const ask = async (asked: LogQuery): Promise<LogList> =>
    JSON.parse(Buffer.from(await query(asked)).toString("utf8")) as LogList;
  return { what: "context", json: await answerContext(question.query, ask) };
}
