/** What the package for other programs exports (`npm run package -- --client`). */

export {
  type ChatEvent,
  type ChatOptions,
  type DiagnosisEvent,
  type DiagnosisOptions,
  streamChat,
  streamDiagnosis,
} from "./chat.ts";
export { ApiError } from "./errors.ts";
export { type FollowOptions, followOperation, runOperation } from "./follow.ts";
export type { DeprecationNotice } from "./http.ts";
export { beginOperation, type ClientOptions, createClient } from "./index.ts";
export { type LogStreamOptions, streamChecks, streamLogs, streamOperation, type Transport } from "./stream.ts";
