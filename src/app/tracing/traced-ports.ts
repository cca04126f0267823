import { basename } from "node:path";
import type { StartDetached } from "#adapters/exec/detached.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { ObserveCall } from "#adapters/systemd/connection.ts";
import type {
  ChatCall,
  ChatEnd,
  ChatPart,
  ChatProvider,
  ConnectorDefinition,
  ConnectorDiscovery,
  ConnectorPlan,
} from "#domain/ports/connectors.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import type { Journal } from "#domain/ports/journal.ts";
import type { Attributes, Span, Tracer } from "#telemetry/tracing.ts";
import { errorTypeOf } from "#telemetry/tracing.ts";

/** Arguments may name secret things, so that a command's span has the name of its program alone. */
export const tracedExec =
  (exec: Exec, tracer: Tracer): Exec =>
  (argv, options) => {
    const name = basename(argv[0]);
    return tracer.span("client", name, { "process.executable.name": name }, async (span) => {
      const result = await exec(argv, options);
      // No failure by itself: many programs answer with it.
      span.set({ "process.exit.code": result.exitCode });
      return result;
    });
  };

/** The span ends when the program runs. */
export const tracedStart =
  (start: StartDetached, tracer: Tracer): StartDetached =>
  (argv, options) => {
    const name = basename(argv[0]);
    return tracer.span("client", name, { "process.executable.name": name }, () => start(argv, options));
  };

/** Calls over the system bus. What systemd says by itself, in signals, belongs to no request. */
export const tracedCalls =
  (tracer: Tracer): ObserveCall =>
  ({ interface: service, member }, work) =>
    tracer.span(
      "client",
      `${service}/${member}`,
      { "rpc.system": "dbus", "rpc.service": service, "rpc.method": member },
      work,
    );

/** Questions to the journal, with what makes them dear and nothing of what was looked for. */
export const tracedJournal = (journal: Journal, tracer: Tracer): Journal => ({
  follow: journal.follow,
  query(query, signal) {
    const { units, order, limit, grep } = query;
    const attributes = {
      "db.system.name": "journald",
      "db.operation.name": "query",
      "steward.journal.units": units?.length,
      "steward.journal.order": order,
      "steward.journal.limit": limit,
      "steward.journal.is_search": grep !== undefined,
    };
    return tracer.span("client", "query journald", attributes, async (span) => {
      const answer = await journal.query(query, signal);
      span.set({ "steward.journal.answer_bytes": answer.bytes.byteLength });
      return answer;
    });
  },
});

/** How the semantic conventions call providers, where that is not their own name in small letters. */
const providerNames: Readonly<Record<string, string>> = { Google: "gcp.gemini", Mistral: "mistral_ai" };

const endAttributes = ({ model, usage, finishReason }: ChatEnd): Attributes => ({
  "gen_ai.response.model": model,
  "gen_ai.response.finish_reasons": [finishReason],
  "gen_ai.usage.input_tokens": usage.inputTokens ?? undefined,
  "gen_ai.usage.output_tokens": usage.outputTokens ?? undefined,
});

/** Marks a span with how the provider failed, which is said elsewhere than in the name of the error. */
function failed(span: Span, error: unknown): void {
  const isKnown = error instanceof ProviderFailed;
  if (isKnown) span.set({ "http.response.status_code": error.status ?? undefined });
  span.fail(isKnown ? error.failure : errorTypeOf(error));
}

/** A provider whose calls have spans, by the semantic conventions for generative AI: figures and names, never a text. */
function tracedProvider(
  provider: ChatProvider,
  { name, provider: providerName, model }: Pick<ConnectorDefinition, "name" | "provider" | "model">,
  tracer: Tracer,
): ChatProvider {
  const begin = (operation: string, call?: ChatCall) =>
    tracer.begin("client", `${operation} ${model}`, {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": providerNames[providerName] ?? providerName.toLowerCase(),
      "gen_ai.request.model": model,
      "gen_ai.request.max_tokens": call?.maxTokens,
      "gen_ai.request.temperature": call?.temperature,
      "steward.connector.name": name,
    });

  async function* streamed(
    span: NonNullable<ReturnType<typeof begin>>,
    call: ChatCall,
    signal: AbortSignal,
  ): AsyncGenerator<ChatPart> {
    // Each piece is asked for within the span, since the first of them is what makes the call.
    const parts = span.run(() => provider.stream(call, signal)[Symbol.asyncIterator]());
    try {
      for (;;) {
        const part = await span.run(() => parts.next());
        if (part.done === true) return;
        if (part.value.kind === "end") span.set(endAttributes(part.value));
        yield part.value;
      }
    } catch (error) {
      failed(span, error);
      throw error;
    } finally {
      span.end();
      await parts.return?.();
    }
  }

  return {
    async chat(call, signal) {
      const span = begin("chat", call);
      if (span === undefined) return provider.chat(call, signal);
      try {
        const reply = await span.run(() => provider.chat(call, signal));
        span.set(endAttributes(reply));
        return reply;
      } catch (error) {
        failed(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    stream(call, signal) {
      const span = begin("chat", call);
      return span === undefined ? provider.stream(call, signal) : streamed(span, call, signal);
    },
    async probe(signal) {
      const span = begin("probe");
      if (span === undefined) return provider.probe(signal);
      try {
        await span.run(() => provider.probe(signal));
      } catch (error) {
        failed(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
  };
}

const tracedConnector = (definition: ConnectorDefinition, tracer: Tracer): ConnectorDefinition => {
  const { access } = definition;
  if ("missing" in access) return definition;
  return { ...definition, access: { provider: tracedProvider(access.provider, definition, tracer) } };
};

/** The connectors of a plan, their calls traced. */
export const tracedPlan = (plan: ConnectorPlan, tracer: Tracer): ConnectorPlan => ({
  ...plan,
  connectors: plan.connectors.map((each) => tracedConnector(each, tracer)),
});

/** The connectors that are found, their calls traced. */
export const tracedDiscovery = (discovery: ConnectorDiscovery, tracer: Tracer): ConnectorDiscovery => ({
  find: async (signal) => (await discovery.find(signal)).map((each) => tracedConnector(each, tracer)),
});
