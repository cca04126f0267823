import type { SharedV4Warning } from "@ai-sdk/provider";

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
