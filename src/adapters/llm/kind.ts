import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ChatCall } from "#domain/ports/connectors.ts";
import type { Fetch } from "./fetch.ts";

/** How one connector gets to its provider. */
export interface Access {
  readonly model: string;
  /** Without credentials and without a slash at its end. */
  readonly baseUrl: string;
  /** Whether that is an address of the settings, where something else than the provider itself may answer. */
  readonly isOwnAddress: boolean;
  /** Undefined where none is needed. */
  readonly key: string | undefined;
  /** What is sent besides: credentials that the address bore. */
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  /** Which of its interfaces to talk to, where it has two. */
  readonly api: "chat" | "responses";
}

/** What a probe can do. */
export interface Asking {
  /** @throws ErrorAnswer, or what the network throws. */
  readonly get: (url: string) => Promise<unknown>;
  /** @throws ProviderFailed: the provider has no such model, and what to do about it. */
  readonly modelMissing: (offered?: readonly string[]) => never;
  /** Asks the model for one token, where there is no other way to find out. */
  readonly chat: (call: Pick<ChatCall, "maxTokens">) => Promise<void>;
}

/** One provider: what differs between it and the others. */
export interface ProviderKind {
  /** Display name. */
  readonly display: string;
  /** What messages call it, where that is another. */
  readonly called?: string;
  /** Its address; undefined where every connector has to say its own. */
  readonly baseUrl: string | undefined;
  /** What is put behind an address of the settings that has no path. */
  readonly path: string;
  /** Environment variables that usually hold its key, in the order in which they are looked at. */
  readonly keyVariables: readonly string[];
  readonly needsKey: boolean;
  /** The model of a connector that was found by its key. */
  readonly defaultModel: string | undefined;
  /** Whether it takes system messages apart from the others, at the beginning. */
  readonly hoistsSystem: boolean;
  /** What to do when it does not know the model. */
  readonly remedy: (model: string) => string;
  readonly authenticate: (key: string) => Readonly<Record<string, string>>;
  /** Its library is loaded on demand, with the first chat. */
  readonly load: (access: Access) => Promise<LanguageModelV4>;
  /** Options that only this provider knows, by its name. */
  readonly options?: (access: Access) => Readonly<Record<string, Readonly<Record<string, boolean>>>>;
  /** The model as the provider names it, from an answer as it came, where the library leaves it out. */
  readonly modelIn?: (raw: unknown) => string | undefined;
  /** @throws when the provider would not answer. */
  readonly probe: (access: Access, asking: Asking) => Promise<void>;
}

export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` });
