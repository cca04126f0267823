import type { ServerContext } from "@modelcontextprotocol/server";
import { isRecord } from "#kernel/values.ts";
import type { Answer, Arguments } from "./calls.ts";

const acceptedStatus = 202;
const wait = "10s";
const atWork = new Set(["queued", "running"]);

/** What a client that wants progress is told of an operation. */
function notificationOf(token: string | number, { progress, status }: Record<string, unknown>) {
  const { percent, step } = isRecord(progress) ? progress : {};
  const text = [status, step].filter((each) => typeof each === "string" && each !== "").join(": ");
  return {
    method: "notifications/progress",
    params: { progressToken: token, progress: typeof percent === "number" ? percent : 0, total: 100, message: text },
  };
}

/**
 * The end of an operation that was begun, for a client that asked for progress; the operation itself for others, who ask for it with
 * getOperation. A client that no longer waits does not end it.
 */
export async function followed(
  begun: Answer,
  read: (given: Arguments) => Promise<Answer>,
  { mcpReq }: ServerContext,
): Promise<Answer> {
  const token = mcpReq._meta?.progressToken;
  const { id } = begun.body;
  let last = begun;
  if (token === undefined || begun.status !== acceptedStatus || !atWork.has(String(begun.body["status"]))) return begun;
  while (atWork.has(String(last.body["status"])) && !mcpReq.signal.aborted) {
    await mcpReq.notify(notificationOf(token, last.body));
    const next = await read({ id, wait });
    if (next.status >= 400) return next;
    last = next;
  }
  return last;
}
