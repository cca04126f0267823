import type { TraceSummary } from "#contract/traces.ts";
import type { Keeping, SpanGroup, SpanSource, TraceQuery } from "#domain/ports/traces.ts";
import type { ReceivedBody, RefusalKind } from "#transports/otlp/receiver.ts";

export interface TraceThreadSetup {
  readonly stateDir: string;
  readonly keepBytes: number;
  readonly forwards: boolean;
}

export type TraceJob =
  | { readonly kind: "body"; readonly body: ReceivedBody }
  | { readonly kind: "add"; readonly groups: readonly SpanGroup[]; readonly source: SpanSource }
  | { readonly kind: "list"; readonly query: TraceQuery }
  | { readonly kind: "trace"; readonly traceId: string }
  | { readonly kind: "close" };

export interface TakenBody extends Keeping {
  readonly reason: string;
  readonly protobuf: Uint8Array<ArrayBuffer> | undefined;
}

export interface TraceAnswers {
  readonly body: TakenBody;
  readonly add: Keeping;
  readonly list: readonly TraceSummary[];
  readonly trace: Uint8Array<ArrayBuffer> | undefined;
  readonly close: undefined;
}

export interface TraceRequest {
  readonly id: number;
  readonly job: TraceJob;
}

/** An answer to each request, or trouble with the file at any time. */
export type TraceReply =
  | { readonly kind: "answer"; readonly id: number; readonly answer: TraceAnswers[TraceJob["kind"]] }
  | { readonly kind: "refused"; readonly id: number; readonly refusal: RefusalKind; readonly message: string }
  | { readonly kind: "failed"; readonly id: number; readonly message: string }
  | { readonly kind: "trouble"; readonly message: string; readonly aside: string | undefined };
