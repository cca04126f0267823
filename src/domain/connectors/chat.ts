import type { ChatAnswer } from "#contract/connectors.ts";
import type { Caller, Context, ServerSentEvent } from "#contract/operation.ts";
import { DomainError, type ScopeLack } from "#domain/common/error.ts";
import { type ChatPart, ProviderFailed, type ToolCalls } from "#domain/ports/connectors.ts";
import { untilAborted } from "#kernel/async.ts";
import { utf8Length } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import {
  beginCall,
  type ChatCallPorts,
  type ChatContext,
  type ChatInput,
  type ChosenConnector,
  reserveTokens,
  tokensOfCall,
} from "./chat-call.ts";
import type { Connectors } from "./connectors.ts";
import { noDefault, notConfigured } from "./failure.ts";

/** What a model says: an answer, or what it wants to be called before it answers. */
export interface ModelReply {
  readonly answer: ChatAnswer;
  readonly called: ToolCalls | undefined;
}

export interface Conversation {
  /** How many tokens there are for all calls. */
  readonly tokens: number;
  /** The most that a call may use. */
  readonly expected: (input: ChatInput) => number;
  /** @throws DomainError `UNAVAILABLE` when the provider fails. */
  readonly ask: (input: Omit<ChatInput, "connector">) => Promise<ModelReply>;
  readonly end: () => void;
}

export type Chat = ReturnType<typeof createChat>;

const toCall = ({ messages, tools, exchanges, maxTokens, temperature }: ChatInput) => ({
  ...{ messages, maxTokens, temperature },
  ...defined({ tools, exchanges }),
});

async function replyOf(
  ports: ChatCallPorts,
  chosen: ChosenConnector,
  input: ChatInput,
  context: Pick<ChatContext, "signal">,
  settle: (tokens: number) => void,
): Promise<ModelReply> {
  const call = beginCall(ports, chosen, input, context, settle);
  try {
    const { called, ...answer } = await call.attempt(() => chosen.provider.chat(toCall(input), call.signal));
    const outputBytes = (called?.calls ?? []).reduce(
      (sum, { name, input: given }) => sum + utf8Length(name) + utf8Length(given),
      utf8Length(answer.content),
    );
    return { answer: call.succeed(answer, outputBytes, answer.content), called };
  } catch (error) {
    throw call.fail(error, 0);
  }
}

export function createChat(
  ports: ChatCallPorts & {
    readonly connectors: Connectors;
    readonly covers: (caller: Caller, connector: string) => boolean;
    readonly lackOf: ScopeLack;
  },
) {
  const { connectors, covers, lackOf } = ports;

  /** The named connector, or the default. @throws DomainError FORBIDDEN, NOT_FOUND, UNAVAILABLE where it cannot be used. */
  const choose = async (
    named: string | undefined,
    { caller, checkWindows }: Pick<Context, "caller" | "checkWindows">,
  ): Promise<ChosenConnector> => {
    await connectors.ready();
    const name = named ?? connectors.defaultName();
    if (name === null) throw noDefault(connectors.defaultState().name);
    // Before it can be seen whether the connector exists.
    if (caller === undefined || !covers(caller, name)) throw lackOf(caller, "connectors:chat", name);
    checkWindows("connectors:chat", name);
    const definition = connectors.find(name);
    if (definition === undefined) throw new DomainError("NOT_FOUND", `cannot find connector ${name}`);
    if ("missing" in definition.access) throw notConfigured(definition, definition.access.missing);
    return { definition, provider: definition.access.provider };
  };

  /** @throws DomainError as `choose`, RATE_LIMITED for a used-up budget, UNAVAILABLE when the provider fails. */
  const ask = async (input: ChatInput, context: ChatContext): Promise<ChatAnswer> => {
    const chosen = await choose(input.connector, context);
    context.touched({ connector: chosen.definition.name });
    const { settle } = reserveTokens(ports, tokensOfCall(input), context);
    return (await replyOf(ports, chosen, input, context, settle)).answer;
  };

  /**
   * Begins several calls of a connector that draw on one reservation, so that none of them is refused for the budget of the key.
   * @param tokens the most that all of them may use.
   * @throws DomainError as `ask`.
   */
  const begin = async (connector: string, tokens: number, context: ChatContext): Promise<Conversation> => {
    const chosen = await choose(connector, context);
    const { remaining, spend, settle } = reserveTokens(ports, tokens, context);
    return {
      tokens: Math.min(tokens, remaining ?? tokens),
      expected: tokensOfCall,
      ask: (input) => replyOf(ports, chosen, input, context, spend),
      end: () => settle(0),
    };
  };

  async function* stream(input: ChatInput, context: ChatContext): AsyncGenerator<ServerSentEvent> {
    const chosen = await choose(input.connector, context);
    context.touched({ connector: chosen.definition.name });
    const { settle } = reserveTokens(ports, tokensOfCall(input), context);
    const call = beginCall(ports, chosen, input, context, settle);
    let outputBytes = 0;
    let parts: AsyncIterator<ChatPart> | undefined;
    try {
      let part = await call.attempt(() => {
        parts = chosen.provider.stream(toCall(input), call.signal)[Symbol.asyncIterator]();
        return parts.next();
      });
      if (part.done !== true) call.started();
      for (;;) {
        if (part.done === true || parts === undefined)
          throw new ProviderFailed("the answer broke off", { failure: "unreadable", isRetryable: true });
        if (part.value.kind === "end") {
          yield { event: "done", data: call.succeed(part.value, outputBytes, "") };
          return;
        }
        const { text } = part.value;
        outputBytes += utf8Length(text);
        if (text !== "") yield* call.hand({ event: "delta", data: { content: text } });
        part = await untilAborted(parts.next(), call.signal);
      }
    } catch (error) {
      throw call.fail(error, outputBytes);
    } finally {
      call.abandon(outputBytes);
      // Not awaited: it may ignore its signal, which has fired.
      void parts?.return?.().catch(() => undefined);
    }
  }

  return { choose, ask, begin, stream };
}
