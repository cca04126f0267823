import type { MessagePort } from "node:worker_threads";
import type {
  ExportPart,
  ExportQuery,
  Journal,
  Lacking,
  LiveEntry,
  LogQuery,
  MessageSearch,
} from "#domain/ports/journal.ts";
import type { Exploration, Explored } from "./exploration.ts";
import type { UnpackGate } from "./journal-file/unpack-gate.ts";
import type { ListAnswer, ListQuestion } from "./lists.ts";
import type { Fault, Root } from "./registry.ts";
import type { SharedSearch } from "./shared-search.ts";

export interface ThreadSetup {
  readonly roots: readonly Root[];
  /** What `journalctl` is told to read where the native reader cannot; undefined: its own choice. */
  readonly directory: string | undefined;
  /** Incompatible flags of files that are read natively; undefined: all that can be. */
  readonly readable: number | undefined;
  /** Where templates are remembered; undefined: nowhere. */
  readonly templatesFile: string | undefined;
}

/** What each thread gets beside its setup. */
export interface ThreadMemory {
  /** Id of the request that nobody waits for any more: the thread sees it while it reads, where no message reaches it. */
  readonly cancelled: Int32Array<SharedArrayBuffer>;
  /** Programs that the thread has started, 0 for none: they are ended with it. */
  readonly programs: Int32Array<SharedArrayBuffer>;
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
  | { readonly id: number; readonly kind: "list"; readonly question: ListQuestion }
  | { readonly id: number; readonly kind: "explore"; readonly question: Exploration }
  | { readonly id: number; readonly kind: "grep"; readonly searches: readonly MessageSearch[] }
  | { readonly id: number; readonly kind: "learn"; readonly budgetMs: number }
  | { readonly id: number; readonly kind: "errors"; readonly since: number }
  | { readonly id: number; readonly kind: "help"; readonly search: SharedSearch; readonly port: MessagePort }
  | { readonly id: number; readonly kind: "follow"; readonly start: FollowStart }
  | { readonly id: number; readonly kind: "pull" }
  | { readonly id: number; readonly kind: "end" }
  | { readonly id: number; readonly kind: "cancel" };

export type ThreadFailure =
  | { readonly kind: "refused"; readonly field: string; readonly issue: string }
  | { readonly kind: "unavailable"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** What a thread answers: that it is up, once to each request; faults whenever it finds them; and what it wants help with. */
export type ThreadReply =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: "part"; readonly id: number; readonly part: ExportPart }
  | { readonly kind: "list"; readonly id: number; readonly answer: ListAnswer & Lacking }
  | { readonly kind: "explored"; readonly id: number; readonly answer: Explored }
  | { readonly kind: "positions"; readonly id: number; readonly found: readonly (readonly number[] | ThreadFailure)[] }
  | { readonly kind: "learned"; readonly id: number; readonly isDone: boolean }
  | { readonly kind: "errors"; readonly id: number; readonly found: Awaited<ReturnType<Journal["rememberedErrors"]>> }
  | { readonly kind: "helped"; readonly id: number }
  | { readonly kind: "help"; readonly search: SharedSearch; readonly port: MessagePort }
  | { readonly kind: "entries"; readonly id: number; readonly entries: readonly LiveEntry[] }
  | { readonly kind: "failure"; readonly id: number; readonly failure: ThreadFailure }
  | { readonly kind: "fault"; readonly fault: Fault };
