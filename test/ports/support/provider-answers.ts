import { sse } from "./capture-server.ts";

const text = "Hello to you too";
const pieces = ["Hello ", "to you ", "too"];
/** What every answer here says. */
export const spoken = { text, inputTokens: 11, outputTokens: 5 } as const;

const chatUsage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 };
const chatChunk = (fields: object): string =>
  sse({ id: "c1", object: "chat.completion.chunk", created: 1_700_000_000, model: "served-1", ...fields });

/** Chat completions, as OpenAI, Mistral, Ollama and servers like them answer. */
const chatCompletions = {
  whole: {
    id: "c1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "served-1",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: chatUsage,
  },
  events: [
    chatChunk({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] }),
    ...pieces.map((content) => chatChunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    chatChunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: chatUsage }),
    sse("[DONE]"),
  ],
};

const responsesUsage = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 16,
};
const responsesItem = {
  type: "message",
  id: "m1",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
};
const response = (fields: object) => ({
  id: "r1",
  object: "response",
  created_at: 1_700_000_000,
  model: "served-1",
  status: "completed",
  output: [responsesItem],
  usage: responsesUsage,
  ...fields,
});
const responsesEvent = (type: string, fields: object): string => sse({ type, ...fields }, type);

/** The responses interface of OpenAI. */
const responses = {
  whole: response({}),
  events: [
    responsesEvent("response.created", { response: response({ status: "in_progress", output: [], usage: null }) }),
    responsesEvent("response.output_item.added", {
      output_index: 0,
      item: { ...responsesItem, status: "in_progress", content: [] },
    }),
    ...pieces.map((delta) =>
      responsesEvent("response.output_text.delta", { item_id: "m1", output_index: 0, content_index: 0, delta }),
    ),
    responsesEvent("response.output_item.done", { output_index: 0, item: responsesItem }),
    responsesEvent("response.completed", { response: response({}) }),
  ],
};

/** Messages of Anthropic. */
const anthropic = {
  whole: {
    id: "m1",
    type: "message",
    role: "assistant",
    model: "served-1",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 5 },
  },
  events: [
    sse(
      {
        type: "message_start",
        message: {
          id: "m1",
          type: "message",
          role: "assistant",
          model: "served-1",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 11, output_tokens: 1 },
        },
      },
      "message_start",
    ),
    sse({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }, "content_block_start"),
    sse({ type: "ping" }, "ping"),
    ...pieces.map((piece) =>
      sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: piece } }, "content_block_delta"),
    ),
    sse({ type: "content_block_stop", index: 0 }, "content_block_stop"),
    sse(
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
      "message_delta",
    ),
    sse({ type: "message_stop" }, "message_stop"),
  ],
};

const googleAnswer = (part: string, fields: object = {}) => ({
  candidates: [{ content: { role: "model", parts: [{ text: part }] }, index: 0, ...fields }],
  usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 5, totalTokenCount: 16 },
  modelVersion: "served-1",
});

/** `generateContent` of Google. */
const google = {
  whole: googleAnswer(text, { finishReason: "STOP" }),
  events: pieces.map((piece, index) =>
    sse(googleAnswer(piece, index === pieces.length - 1 ? { finishReason: "STOP" } : {})),
  ),
};

/** What each interface answers to a chat, whole and as a stream. */
export const answers = { chatCompletions, responses, anthropic, google } as const;
export type Interface = keyof typeof answers;
