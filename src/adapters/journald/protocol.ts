import type { MessagePort } from "node:worker_threads";
import type {
  ContextQuery,
  ExportPart,
  ExportQuery,
  FacetQuery,
  HistogramQuery,
  Journal,
  Lacking,
  ListedEntries,
  LiveEntry,
  LogQuery,
  MessageSearch,
  TemplateQuery,
  UnreadFile,
} from "#domain/ports/journal.ts";
import type { UnpackGate } from "./journal-file/unpack-gate.ts";
import type { Fault, Root } from "./registry.ts";
import type { SharedSearch } from "./shared-search.ts";

/** What is asked of the journal beside entries, and what it answers. */
interface Questions {
  readonly histogram: readonly [query: HistogramQuery, answer: Awaited<ReturnType<Journal["histogram"]>>];
  readonly facets: readonly [query: FacetQuery, answer: Awaited<ReturnType<Journal["facets"]>>];
  readonly templates: readonly [query: TemplateQuery, answer: Awaited<ReturnType<Journal["templates"]>>];
  /** The JSON of a LogContext; where there is no such entry, the files that may have it. */
  readonly context: readonly [query: ContextQuery, answer: Uint8Array | Lacking];
  readonly boots: readonly [query: ListedEntries, answer: Awaited<ReturnType<Journal["boots"]>>];
  readonly names: readonly [query: ListedEntries, answer: Awaited<ReturnType<Journal["fieldNames"]>>];
  readonly values: readonly [
    query: ListedEntries & { readonly name: string },
    answer: Awaited<ReturnType<Journal["fieldValues"]>>,
  ];
  readonly missing: readonly [query: ListedEntries, answer: string | undefined];
  readonly errors: readonly [
    query: { readonly since: number },
    answer: Awaited<ReturnType<Journal["rememberedErrors"]>>,
  ];
}

type What = keyof Questions;
export type Question<W extends What = What> = {
  readonly [K in W]: { readonly what: K; readonly query: Questions[K][0] };
}[W];
export type AnswerTo<W extends What = What> = Questions[W][1];
export type Ask = <W extends What>(question: Question<W>) => AnswerTo<W>;
export type Answers = { readonly [W in What]: (query: Questions[W][0]) => AnswerTo<W> };

export interface ThreadSetup {
  readonly roots: readonly Root[];
  /** Where templates are remembered; undefined: nowhere. */
  readonly templatesFile: string | undefined;
}

/** What each thread gets beside its setup. */
export interface ThreadMemory {
  /** Id of the request that nobody waits for any more: the thread sees it while it reads, where no message reaches it. */
  readonly cancelled: Int32Array<SharedArrayBuffer>;
  /** Of what the thread unpacks: it must not be ended meanwhile. */
  readonly unpackGate: UnpackGate;
  /** What each thread keeps, and the place of this one there. */
  readonly usage: { readonly usage: Int32Array<SharedArrayBuffer>; readonly place: number };
}

export interface FollowStart {
  readonly cursor: string | undefined;
  /** When it was asked for, in microseconds: since the epoch, and since the boot. The thread may start later. */
  readonly realtime: number;
  readonly monotonic: number;
}

/** What a thread is asked. `id` is answered with; that of a follower names it until its end. */
export type ThreadRequest =
  | { readonly id: number; readonly kind: "query"; readonly query: LogQuery }
  | { readonly id: number; readonly kind: "export"; readonly query: ExportQuery }
  | { readonly id: number; readonly kind: "ask"; readonly question: Question }
  | { readonly id: number; readonly kind: "grep"; readonly searches: readonly MessageSearch[] }
  | { readonly id: number; readonly kind: "learn"; readonly budgetMs: number }
  | { readonly id: number; readonly kind: "help"; readonly search: SharedSearch; readonly port: MessagePort }
  | { readonly id: number; readonly kind: "follow"; readonly start: FollowStart }
  | { readonly id: number; readonly kind: "pull" }
  | { readonly id: number; readonly kind: "end" };

export type ThreadFailure =
  | { readonly kind: "refused"; readonly field: string; readonly issue: string }
  | { readonly kind: "unavailable"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** What a thread answers: that it is up, once to each request; faults whenever it finds them; and what it wants help with. */
export type ThreadReply =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: "part"; readonly id: number; readonly part: ExportPart }
  | { readonly kind: "answered"; readonly id: number; readonly answer: AnswerTo }
  | { readonly kind: "positions"; readonly id: number; readonly found: readonly (readonly number[] | ThreadFailure)[] }
  | { readonly kind: "learned"; readonly id: number; readonly isDone: boolean }
  | { readonly kind: "helped"; readonly id: number }
  | { readonly kind: "help"; readonly search: SharedSearch; readonly port: MessagePort }
  | { readonly kind: "unread"; readonly id: number; readonly files: readonly UnreadFile[] }
  | { readonly kind: "entries"; readonly id: number; readonly entries: readonly LiveEntry[] }
  | { readonly kind: "failure"; readonly id: number; readonly failure: ThreadFailure }
  | { readonly kind: "fault"; readonly fault: Fault };
