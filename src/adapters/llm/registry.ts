import type { ProviderKind } from "./kind.ts";
import { anthropic } from "./providers/anthropic.ts";
import { google } from "./providers/google.ts";
import { mistral } from "./providers/mistral.ts";
import { ollama } from "./providers/ollama.ts";
import { openai } from "./providers/openai.ts";
import { openaiCompatible } from "./providers/openai-compatible.ts";

export const providers = {
  openai,
  anthropic,
  google,
  mistral,
  ollama,
  "openai-compatible": openaiCompatible,
} as const satisfies Readonly<Record<string, ProviderKind>>;

export type ProviderName = keyof typeof providers;
