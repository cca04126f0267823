import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4Warning } from "@ai-sdk/provider";
import type { ChatMessage } from "#contract/connectors.ts";

const toMessage = ({ role, content }: ChatMessage): LanguageModelV4Message =>
  role === "system" ? { role, content } : { role, content: [{ type: "text", text: content }] };

/** Some providers take system messages in one place only. */
export function toPrompt(
  messages: readonly ChatMessage[],
  hoistsSystem: boolean,
): { readonly prompt: LanguageModelV4Prompt; readonly warnings: readonly string[] } {
  if (!hoistsSystem) return { prompt: messages.map(toMessage), warnings: [] };
  const system = messages.filter(({ role }) => role === "system");
  const others = messages.filter(({ role }) => role !== "system");
  const isMoved = system.some((message, at) => messages[at] !== message);
  return {
    prompt: [...system, ...others].map(toMessage),
    warnings: isMoved ? ["system messages were sent before all others: the provider takes them nowhere else"] : [],
  };
}

const names: Readonly<Record<string, string>> = { maxOutputTokens: "max_tokens" };

export function toSentence(warning: SharedV4Warning): string {
  if (warning.type === "other") return warning.message;
  if (warning.type === "deprecated") return `${warning.setting}: ${warning.message}`;
  const { feature, details = "" } = warning;
  const name = names[feature] ?? feature;
  const [, sent] = /(?:clamped|limited) to (\d+(?:\.\d+)?)/.exec(details) ?? [];
  if (sent !== undefined && warning.type === "compatibility") {
    return `${name} was not given and has to be: ${Number(sent)} was sent`;
  }
  if (sent !== undefined) return `the model does not take this ${name}: ${Number(sent)} was sent`;
  if (warning.type === "unsupported") return `the model does not take ${name}: it was left out`;
  return details === "" ? name : `${name}: ${details}`;
}
