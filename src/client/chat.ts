import { type ChatAnswer, ChatDelta, type ChatInput } from "#contract/connectors.ts";
import { Diagnosis, type DiagnosisInput, DiagnosisStep } from "#contract/diagnosis.ts";
import { operations } from "#contract/index.ts";
import { parseAs } from "./answer.ts";
import { type EventOptions, streamEvents } from "./events.ts";

export interface ChatOptions extends EventOptions {
  readonly request: Omit<ChatInput, "stream">;
}

/** A piece of the answer; `done` has the answer without its text. */
export type ChatEvent =
  | { readonly event: "delta"; readonly content: string }
  | { readonly event: "done"; readonly answer: ChatAnswer };

/**
 * Streams the answer of a model. Runs in Node and in browsers.
 * @throws ApiError when the service refuses, or the answer breaks off; errors of `fetch` when it cannot be reached.
 */
export const streamChat = ({ request, ...options }: ChatOptions): AsyncGenerator<ChatEvent> =>
  streamEvents(operations.chat, request, options, (event, data, response): ChatEvent | undefined => {
    if (event === "delta") return { event, content: (parseAs(ChatDelta, data, response) as ChatDelta).content };
    if (event === "done") return { event, answer: parseAs(operations.chat.response, data, response) as ChatAnswer };
    return undefined;
  });

export interface DiagnosisOptions extends EventOptions {
  readonly request: Omit<DiagnosisInput, "stream">;
}

/** A call of the model that begins, where its `status` is null, or has ended; `done` has all of the diagnosis. */
export type DiagnosisEvent =
  | { readonly event: "step"; readonly step: DiagnosisStep }
  | { readonly event: "done"; readonly diagnosis: Diagnosis };

/**
 * Streams a diagnosis, as its model looks for the cause. Runs in Node and in browsers.
 * @throws ApiError when the service refuses, or the answer breaks off; errors of `fetch` when it cannot be reached.
 */
export const streamDiagnosis = ({ request, ...options }: DiagnosisOptions): AsyncGenerator<DiagnosisEvent> =>
  streamEvents(operations.diagnose, request, options, (event, data, response): DiagnosisEvent | undefined => {
    if (event === "step") return { event, step: parseAs(DiagnosisStep, data, response) as DiagnosisStep };
    if (event === "done") return { event, diagnosis: parseAs(Diagnosis, data, response) as Diagnosis };
    return undefined;
  });
