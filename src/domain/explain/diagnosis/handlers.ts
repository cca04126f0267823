import {
  type Diagnosis,
  type DiagnosisCall,
  type DiagnosisInput,
  type DiagnosisPreview,
  type diagnoses,
  diagnosisLimits,
} from "#contract/diagnosis.ts";
import { type Context, EventStream, type Handlers, type Plan, type ServerSentEvent } from "#contract/operation.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { Clock } from "#kernel/clock.ts";
import { utf8Length } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import { type Bundle, makeBundle } from "../bundle.ts";
import { citedIn, strangeIn, unsupportedIn } from "../citations.ts";
import { known, resolved, silent } from "../handlers.ts";
import { writePrompt } from "../prompt.ts";
import type { Asking, ExplainSources } from "../sources.ts";
import { shownAnswer } from "../text.ts";
import { askOnce, type Findings, type LoopPorts, look, type Talk } from "./loop.ts";
import { lookingTask, oneShotTask } from "./prompt.ts";
import { findingOf, type Topic, type TopicPorts, topicOf } from "./topic.ts";

type Chosen = Awaited<ReturnType<Asking["choose"]>>;

export interface DiagnosisPorts extends Pick<TopicPorts, "canonicalUnit" | "lackOf"> {
  readonly sources: ExplainSources;
  readonly talking: Pick<Asking, "choose"> & {
    /** @throws DomainError as `choose`, and `RATE_LIMITED`. */
    readonly begin: (
      connector: string,
      tokens: number,
      context: Context,
    ) => Promise<Talk & { readonly end: () => void }>;
  };
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
}

/** What is ready to be sent. */
interface Prepared {
  readonly input: DiagnosisInput;
  readonly chosen: Chosen;
  readonly topic: Topic;
  readonly bundle: Bundle;
}

const promptOf = ({ bundle, input }: Prepared, task: typeof lookingTask) => {
  const { messages, redactions } = writePrompt(bundle, input.question, task);
  return {
    messages: [...messages],
    bytes: messages.reduce((sum, { content }) => sum + utf8Length(content), 0),
    redactions: bundle.redactions + redactions,
  };
};

const noRequest = "a call that was approved has no request, with whose rights operations could be called";

function previewOf(prepared: Prepared, reason: string | null, context: Context): DiagnosisPreview {
  return {
    preview: true,
    connector: prepared.chosen.name,
    ...promptOf(prepared, reason === null ? lookingTask : oneShotTask),
    tools: reason === null ? [...(context.tools()?.offered() ?? [])] : [],
    omitted: [...prepared.bundle.omitted],
    runbooks: [...prepared.bundle.runbooks.ids],
  };
}

function planOf(prepared: Prepared, { bytes, redactions, tools, omitted }: DiagnosisPreview): Plan {
  const { input, chosen, topic } = prepared;
  const about = [input.check, topic.unit].filter((each) => each !== undefined).join(" and ");
  const subject = about === "" ? "" : ` about ${about}`;
  return createPlan(
    [
      `send ${bytes} bytes${subject} to connector ${chosen.name}, less ${redactions} redacted secrets`,
      ...(tools.length === 0
        ? []
        : [`let it call up to ${diagnosisLimits.calls} operations with the rights of this key`]),
    ],
    omitted.length === 0 ? {} : { reason: `not sent: ${omitted.join("; ")}` },
    { digested: [about, chosen.name, chosen.provider, chosen.model] },
  );
}

function toDiagnosis({ bundle, topic }: Prepared, found: Findings, reason: string | null, sent: number): Diagnosis {
  const { answer, usage, calls, steps, proposals, stoppedBy, redactions } = found;
  if (answer.content.trim() === "") throw silent(answer.connector);
  const text = shownAnswer(answer.content);
  const citable = { lines: bundle.journal.length, calls: calls.length };
  return {
    answer: text,
    ...{ model: answer.model, connector: answer.connector, usage, steps, reason },
    method: reason === null ? "tools" : "one_shot",
    calls: [...calls],
    cited: resolved(bundle, citedIn(text, citable)),
    invalid_citations: [...strangeIn(text, citable)],
    unsupported: [...unsupportedIn(text, citable)],
    proposals: [...proposals],
    stopped_by: stoppedBy,
    redactions: sent + redactions,
    omitted: [...bundle.omitted],
    runbooks: [...bundle.runbooks.ids],
    check: topic.check,
  };
}

/** The answer of a diagnosis, which is the last of its events. */
async function lastOf(events: AsyncGenerator<ServerSentEvent>): Promise<Diagnosis> {
  let last: object = {};
  for await (const { data } of events) last = data;
  return last as Diagnosis;
}

/** Which connectors refuse tools, and how, until the settings are read again. */
type Refusals = WeakMap<Chosen, string>;

/** A model may call anything, also by a name that reads like other calls. */
const nameOf = ({ operation }: DiagnosisCall): string => (/^\w+$/.test(operation) ? operation : "?");

const asTarget = (calls: readonly DiagnosisCall[]): string =>
  calls.map((call) => `${call.id} ${nameOf(call)} ${call.status}`).join(", ");

async function* diagnosed(
  prepared: Prepared,
  ports: DiagnosisPorts,
  refusals: Refusals,
  context: Context,
): AsyncGenerator<ServerSentEvent> {
  const { chosen, input, topic } = prepared;
  const target = { connector: chosen.name, ...defined({ check: input.check, unit: topic.unit }) };
  const signal = context.signal();
  const talk = await ports.talking.begin(chosen.name, diagnosisLimits.tokens, context);
  try {
    const tools = context.tools();
    let reason = refusals.get(chosen) ?? (tools === undefined ? noRequest : null);
    let found: Findings | undefined;
    if (reason === null && tools !== undefined) {
      const loop: LoopPorts = {
        ...{ talk, tools, signal, clock: ports.clock, model: `${chosen.model} by ${chosen.name}` },
        onCall: (calls) => context.touched({ ...target, calls: asTarget(calls) }),
      };
      const looked = yield* look(promptOf(prepared, lookingTask).messages, tools.offered(), loop);
      if ("refusal" in looked) reason = looked.refusal;
      else found = looked;
    }
    const { messages, redactions } = promptOf(prepared, reason === null ? lookingTask : oneShotTask);
    found ??= await askOnce(messages, talk);
    // Only now it is known that the tools were what was refused.
    if (tools !== undefined && reason !== null) refusals.set(chosen, reason);
    yield { event: "done", data: toDiagnosis(prepared, found, reason, redactions) };
  } finally {
    talk.end();
  }
}

export function diagnosisHandlers(ports: DiagnosisPorts): Handlers<typeof diagnoses> {
  const { sources, talking, clock } = ports;
  const refusals: Refusals = new WeakMap();
  return {
    async diagnose({ query, body }, context) {
      const caller = known(context.caller);
      const topic = await topicOf(body, ports, context);
      const chosen = await talking.choose(body.connector, context);
      context.touched({ connector: chosen.name, ...defined({ check: body.check, unit: topic.unit }) });
      const nowMs = clock.now();
      const made = await makeBundle(sources, { result: findingOf(topic, nowMs), nowMs, caller, context });
      const bundle = topic.check === null ? { ...made, check: [], history: [] } : made;
      const prepared: Prepared = { input: body, chosen, topic, bundle };
      const preview = () => previewOf(prepared, refusals.get(chosen) ?? null, context);
      if (query.dry_run) return planOf(prepared, preview());
      if (query.preview) return preview();
      const events = diagnosed(prepared, ports, refusals, context);
      return body.stream === true ? new EventStream(events) : lastOf(events);
    },
  };
}
