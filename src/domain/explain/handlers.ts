import type { Explanation, ExplanationPreview, explanations } from "#contract/connectors.ts";
import type { Caller, Handlers, Plan } from "#contract/operation.ts";
import { DomainError, unknownCheck } from "#domain/common/error.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { Clock } from "#kernel/clock.ts";
import { utf8Length } from "#kernel/text.ts";
import { type Bundle, makeBundle } from "./bundle.ts";
import { citedIn, strangeIn, unsupportedIn } from "./citations.ts";
import { writePrompt } from "./prompt.ts";
import type { Asking, ExplainSources } from "./sources.ts";
import { shownAnswer } from "./text.ts";

/** Enough for an answer of 300 words and the reasoning of some models before it. */
const mostAnswerTokens = 4096;

type Prepared = Omit<ExplanationPreview, "preview">;

type Chosen = Awaited<ReturnType<Asking["choose"]>>;

const planOf = (checkId: string, { name, provider, model }: Chosen, prepared: Prepared): Plan => {
  const { connector, bytes, redactions, omitted } = prepared;
  return createPlan(
    [`send ${bytes} bytes about ${checkId} to connector ${connector}, less ${redactions} redacted secrets`],
    omitted.length === 0 ? {} : { reason: `not sent: ${omitted.join("; ")}` },
    { digested: [checkId, name, provider, model] },
  );
};

/** The cursors of the lines among what is cited; ids of calls stay. */
export const resolved = ({ journal }: Pick<Bundle, "journal">, cited: readonly string[]): string[] =>
  cited.flatMap((each) => (each.startsWith("L") ? (journal[Number(each.slice(1)) - 1]?.cursor ?? []) : each));

export const silent = (connector: string): DomainError =>
  new DomainError("UNAVAILABLE", `connector ${connector} answered without a text`, {
    provider_status: null,
    retryable: true,
    connector,
  });

/** The routes need a key, so there is a caller. */
export const known = (caller: Caller | undefined): Caller => {
  if (caller === undefined) throw new DomainError("FORBIDDEN", "cannot ask a model: a key is needed");
  return caller;
};

export function explainHandlers(ports: {
  sources: ExplainSources;
  asking: Asking;
  clock: Pick<Clock, "now">;
}): Handlers<typeof explanations> {
  const { sources, asking, clock } = ports;

  return {
    async explainCheck({ params: { check_id: id }, query, body }, context) {
      const caller = known(context.caller);
      const running = sources.check(id);
      if (running === undefined) throw unknownCheck(id);
      const result = await running;
      const chosen = await asking.choose(body.connector, context);
      const { name: connector } = chosen;
      context.touched({ connector });
      const bundle = await makeBundle(sources, { result, nowMs: clock.now(), caller, context });
      const prompt = writePrompt(bundle, body.question);
      const messages = [...prompt.messages];
      const prepared: Prepared = {
        connector,
        messages,
        bytes: messages.reduce((sum, { content }) => sum + utf8Length(content), 0),
        redactions: bundle.redactions + prompt.redactions,
        omitted: [...bundle.omitted],
        runbooks: [...bundle.runbooks.ids],
      };
      if (query.dry_run) return planOf(id, chosen, prepared);
      if (query.preview) return { preview: true, ...prepared };

      const answer = await asking.ask({ connector, messages, maxTokens: mostAnswerTokens }, context);
      if (answer.content.trim() === "") throw silent(answer.connector);
      const explanation = shownAnswer(answer.content);
      const citable = { lines: bundle.journal.length, calls: 0 };
      return {
        explanation,
        model: answer.model,
        connector: answer.connector,
        usage: answer.usage,
        cited: resolved(bundle, citedIn(explanation, citable)),
        invalid_citations: [...strangeIn(explanation, citable)],
        unsupported: [...unsupportedIn(explanation, citable)],
        redactions: prepared.redactions,
        omitted: prepared.omitted,
        runbooks: [...bundle.runbooks.ids],
        check: result,
      } satisfies Explanation;
    },
  };
}
