import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ChatCall } from "#domain/ports/connectors.ts";
import type { Fetch } from "./fetch.ts";

export interface Access {
  readonly model: string;
  readonly baseUrl: string;
  /** Whether that is an address of the settings, where something else than the provider itself may answer. */
  readonly isOwnAddress: boolean;
  readonly key: string | undefined;
  /** What is sent besides: credentials that the address bore. */
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  /** Which of its interfaces to talk to, where it has two. */
  readonly api: "chat" | "responses";
}

export interface Asking {
  /** @throws ErrorAnswer, or what the network throws. */
  readonly get: (url: string) => Promise<unknown>;
  /** @throws ProviderFailed: the provider has no such model, and what to do about it. */
  readonly modelMissing: (offered?: readonly string[]) => never;
  /** Asks the model for one token, where there is no other way to find out. */
  readonly chat: (call: Pick<ChatCall, "maxTokens">) => Promise<void>;
}

export interface ProviderKind {
  readonly display: string;
  /** What messages call it, where that is another. */
  readonly called?: string;
  readonly baseUrl: string | undefined;
  /** What is put behind an address of the settings that has no path. */
  readonly path: string;
  /** Environment variables that usually hold its key, in the order in which they are looked at. */
  readonly keyVariables: readonly string[];
  readonly needsKey: boolean;
  /** The model of a connector that was found by its key. */
  readonly defaultModel: string | undefined;
  readonly hoistsSystem: boolean;
  readonly remedy: (model: string) => string;
  readonly authenticate: (key: string) => Readonly<Record<string, string>>;
  /** Its library is loaded on demand, with the first chat. */
  readonly load: (access: Access) => Promise<LanguageModelV4>;
  /** Options that only this provider knows, by its name. */
  readonly options?: (access: Access) => Readonly<Record<string, Readonly<Record<string, boolean>>>>;
  /** The model as the provider names it, from an answer as it came, where the library leaves it out. */
  readonly modelIn?: (raw: unknown) => string | undefined;
  readonly probe: (access: Access, asking: Asking) => Promise<void>;
}

export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` });
