import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ChatCall } from "#domain/ports/connectors.ts";
import type { Fetch } from "./fetch.ts";

export interface Access {
  readonly model: string;
  readonly baseUrl: string;
  /** Whether that is an address of the settings, where something else than the provider itself may answer. */
  readonly isOwnAddress: boolean;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly api: "chat" | "responses";
}

export interface Asking {
  readonly get: (url: string) => Promise<unknown>;
  /** @throws ProviderFailed: the provider has no such model, and what to do about it. */
  readonly modelMissing: (offered?: readonly string[]) => never;
  readonly chat: (call: Pick<ChatCall, "maxTokens">) => Promise<void>;
}

export interface ProviderKind {
  readonly display: string;
  readonly called?: string;
  readonly baseUrl: string | undefined;
  /** What is put behind an address of the settings that has no path. */
  readonly path: string;
  readonly keyVariables: readonly string[];
  readonly needsKey: boolean;
  readonly defaultModel: string | undefined;
  readonly hoistsSystem: boolean;
  readonly remedy: (model: string) => string;
  readonly authenticate: (key: string) => Readonly<Record<string, string>>;
  readonly load: (access: Access) => Promise<LanguageModelV4>;
  readonly options?: (access: Access) => Readonly<Record<string, Readonly<Record<string, boolean>>>>;
  /** The model as the provider names it, from an answer as it came, where the library leaves it out. */
  readonly modelIn?: (raw: unknown) => string | undefined;
  readonly probe: (access: Access, asking: Asking) => Promise<void>;
}
