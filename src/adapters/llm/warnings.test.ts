import { expect, it } from "vitest";
import { toSentence } from "./chat-provider.ts";

it.each([
  [{ type: "unsupported", feature: "temperature" }, "the model does not take temperature: it was left out"],
  [
    { type: "unsupported", feature: "temperature", details: "1.5 exceeds anthropic maximum of 1.0. clamped to 1.0" },
    "the model does not take this temperature: 1 was sent",
  ],
  [
    { type: "unsupported", feature: "maxOutputTokens", details: "200000 is greater. … have been limited to 64000." },
    "the model does not take this max_tokens: 64000 was sent",
  ],
  [
    {
      type: "compatibility",
      feature: "maxOutputTokens",
      details: 'The model "x" is unknown. … limited to 4096. Set …',
    },
    "max_tokens was not given and must be: 4096 was sent",
  ],
  [{ type: "compatibility", feature: "reasoning", details: "it always does" }, "reasoning: it always does"],
  [{ type: "compatibility", feature: "reasoning" }, "reasoning"],
  [{ type: "deprecated", setting: "x", message: "use y" }, "x: use y"],
  [{ type: "other", message: "system messages are removed" }, "system messages are removed"],
] as const)("a warning of the model library is reported: %j, %j", (warning, expected) => {
  expect(toSentence(warning)).toBe(expected);
});
