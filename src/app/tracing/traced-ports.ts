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
import type {
  Journal,
  JournalExploration,
  JournalExport,
  JournalLists,
  JournalMemory,
  LogFilters,
} from "#domain/ports/journal.ts";
import type { Attributes, Span, Tracer } from "#telemetry/tracing.ts";
import { errorTypeOf } from "#telemetry/tracing.ts";

/** The span has only the name of the program: arguments may be secret. */
export const tracedExec =
  (exec: Exec, tracer: Tracer): Exec =>
  (argv, options) => {
    const name = basename(argv[0]);
    return tracer.span("client", name, { "process.executable.name": name }, async (span) => {
      const result = await exec(argv, options);
      span.set({ "process.exit.code": result.exitCode });
      return result;
    });
  };

export const tracedStart =
  (start: StartDetached, tracer: Tracer): StartDetached =>
  (argv, options) => {
    const name = basename(argv[0]);
    return tracer.span("client", name, { "process.executable.name": name }, () => start(argv, options));
  };

export const tracedCalls =
  (tracer: Tracer): ObserveCall =>
  ({ interface: service, member }, work) =>
    tracer.span(
      "client",
      `${service}/${member}`,
      { "rpc.system": "dbus", "rpc.service": service, "rpc.method": member },
      work,
    );

type ReadJournal = Pick<Journal, "query" | "follow"> &
  JournalMemory &
  JournalLists &
  JournalExploration &
  JournalExport;

const countAttributes = ({ units, grep }: LogFilters): Attributes => ({
  "db.system.name": "journald",
  "db.operation.name": "count",
  "steward.journal.units": units?.length,
  "steward.journal.is_search": grep !== undefined,
});

/** Journal queries with what makes them expensive, but not what was searched for. */
export const tracedJournal = (journal: ReadJournal, tracer: Tracer): ReadJournal => ({
  ...journal,
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
  export(query, signal) {
    const { units, grep, format } = query;
    const attributes = {
      "db.system.name": "journald",
      "db.operation.name": "export",
      "steward.journal.units": units?.length,
      "steward.journal.format": format,
      "steward.journal.is_search": grep !== undefined,
    };
    return tracer.span("client", "export journald", attributes, async (span) => {
      const part = await journal.export(query, signal);
      span.set({ "steward.journal.answer_bytes": part.bytes.byteLength });
      return part;
    });
  },
  histogram: (query, signal) =>
    tracer.span("client", "count journald", { ...countAttributes(query), "steward.journal.count": "histogram" }, () =>
      journal.histogram(query, signal),
    ),
  facets: (query, signal) =>
    tracer.span("client", "count journald", { ...countAttributes(query), "steward.journal.count": "facets" }, () =>
      journal.facets(query, signal),
    ),
});

/** Names of providers in the semantic conventions, where they are not lower-case names. */
const providerNames: Readonly<Record<string, string>> = { Google: "gcp.gemini", Mistral: "mistral_ai" };

const endAttributes = ({ model, usage, finishReason }: ChatEnd): Attributes => ({
  "gen_ai.response.model": model,
  "gen_ai.response.finish_reasons": [finishReason],
  "gen_ai.usage.input_tokens": usage.inputTokens ?? undefined,
  "gen_ai.usage.output_tokens": usage.outputTokens ?? undefined,
});

function failed(span: Span, error: unknown): void {
  const isKnown = error instanceof ProviderFailed;
  if (isKnown) span.set({ "http.response.status_code": error.status ?? undefined });
  span.fail(isKnown ? error.failure : errorTypeOf(error));
}

/** Traces calls by the semantic conventions for generative AI: figures and names, never texts. */
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

  type CallSpan = NonNullable<ReturnType<typeof begin>>;

  const ended = async <T>(span: CallSpan, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  };

  async function* streamed(span: CallSpan, call: ChatCall, signal: AbortSignal): AsyncGenerator<ChatPart> {
    // Within the span, since the first piece makes the call.
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
      return ended(span, async () => {
        const reply = await span.run(() => provider.chat(call, signal));
        span.set(endAttributes(reply));
        return reply;
      });
    },
    stream(call, signal) {
      const span = begin("chat", call);
      return span === undefined ? provider.stream(call, signal) : streamed(span, call, signal);
    },
    async probe(signal) {
      const span = begin("probe");
      if (span === undefined) return provider.probe(signal);
      return ended(span, () => span.run(() => provider.probe(signal)));
    },
  };
}

const tracedConnector = (definition: ConnectorDefinition, tracer: Tracer): ConnectorDefinition => {
  const { access } = definition;
  if ("missing" in access) return definition;
  return { ...definition, access: { provider: tracedProvider(access.provider, definition, tracer) } };
};

export const tracedPlan = (plan: ConnectorPlan, tracer: Tracer): ConnectorPlan => ({
  ...plan,
  connectors: plan.connectors.map((each) => tracedConnector(each, tracer)),
});

export const tracedDiscovery = (discovery: ConnectorDiscovery, tracer: Tracer): ConnectorDiscovery => ({
  find: async (signal) => (await discovery.find(signal)).map((each) => tracedConnector(each, tracer)),
});
