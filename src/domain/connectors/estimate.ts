import type { ChatMessage, TokenUsage } from "#contract/connectors.ts";
import type { ReportedUsage } from "./ports.ts";

/** What a token of ordinary text takes in UTF-8: a rule of thumb that holds for all common models. */
const bytesPerToken = 4;
/** What a message costs beside its text: its role, and the marks between messages. */
const tokensPerMessage = 4;
const encoder = new TextEncoder();

/** Length of a text in UTF-8. */
export const bytesOf = (text: string): number => encoder.encode(text).byteLength;

const tokensOf = (bytes: number): number => Math.ceil(bytes / bytesPerToken);

/** About how many tokens the messages are. */
export const estimateInput = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, { content }) => sum + tokensPerMessage + tokensOf(bytesOf(content)), 0);

/** What was used, where need be estimated from the lengths of the texts. */
export function usageOf(reported: ReportedUsage, messages: readonly ChatMessage[], outputBytes: number): TokenUsage {
  const { inputTokens, outputTokens } = reported;
  const usage = {
    input_tokens: inputTokens ?? estimateInput(messages),
    output_tokens: outputTokens ?? tokensOf(outputBytes),
  };
  return inputTokens === null || outputTokens === null ? { ...usage, estimated: true } : usage;
}
