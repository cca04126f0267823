import { parentPort, workerData } from "node:worker_threads";
import { openTraces } from "#adapters/trace-store/index.ts";
import { errorMessage } from "#kernel/errors.ts";
import { readTraces } from "#transports/otlp/intake.ts";
import { type ReceivedBody, TracesRefused } from "#transports/otlp/receiver.ts";
import type { TakenBody, TraceAnswers, TraceJob, TraceReply, TraceRequest, TraceThreadSetup } from "./protocol.ts";

/** The thread of the traces: parses received bodies and owns the file. A body that exhausts its memory ends only the thread. */
const port = parentPort;
if (port === null) throw new Error("this runs in the thread of the traces only");
const { stateDir, keepBytes, forwards } = workerData as TraceThreadSetup;

const reply = (message: TraceReply, transfer: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, [...transfer]);

const store = openTraces({
  stateDir,
  keepBytes,
  onTrouble: (error, aside) => reply({ kind: "trouble", message: error.message, aside }),
});

function takeBody(body: ReceivedBody): TakenBody {
  const { groups, rejected, reason, protobuf } = readTraces(body);
  const keeping = store.add(groups, body.peer);
  const full = keeping.rejected > 0 ? [`${keeping.rejected} spans of traces that are full`] : [];
  return {
    kept: keeping.kept,
    rejected: rejected + keeping.rejected,
    reason: [...(reason === "" ? [] : [reason]), ...full].join(", "),
    // A copy: it may be part of a larger buffer.
    protobuf: forwards ? new Uint8Array(protobuf) : undefined,
  };
}

function perform(job: TraceJob): TraceAnswers[TraceJob["kind"]] {
  switch (job.kind) {
    case "body":
      return takeBody(job.body);
    case "add":
      return store.add(job.groups, job.source);
    case "list":
      return store.list(job.query);
    case "trace":
      return store.trace(job.traceId);
    case "close":
      store.dispose();
      return undefined;
  }
}

function transferOf(answer: TraceAnswers[TraceJob["kind"]]): readonly ArrayBuffer[] {
  if (answer instanceof Uint8Array) return [answer.buffer];
  return answer !== undefined && "protobuf" in answer && answer.protobuf !== undefined ? [answer.protobuf.buffer] : [];
}

port.on("message", ({ id, job }: TraceRequest) => {
  try {
    const answer = perform(job);
    reply({ kind: "answer", id, answer }, transferOf(answer));
  } catch (error) {
    if (error instanceof TracesRefused) reply({ kind: "refused", id, refusal: error.kind, message: error.message });
    else reply({ kind: "failed", id, message: errorMessage(error) });
  }
});
