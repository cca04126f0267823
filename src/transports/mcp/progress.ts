import type { ServerContext } from "@modelcontextprotocol/server";
import { cleanText } from "#domain/common/clean-text.ts";
import { isRecord } from "#kernel/values.ts";
import type { Answer, Arguments } from "./calls.ts";

const acceptedStatus = 202;
const wait = "10s";
const atWork = new Set(["queued", "running"]);

const total = 100;

/** The progress of an operation for a client that asked for it. @param last the value sent before: the protocol demands a greater one each time. */
function notificationOf(
  token: string | number,
  { progress, status }: Record<string, unknown>,
  last: number | undefined,
) {
  const { percent, step } = isRecord(progress) ? progress : {};
  const text = [status, step].filter((each) => typeof each === "string" && each !== "").join(": ");
  const known = typeof percent === "number" ? percent : 0;
  const value = last === undefined ? known : Math.max(known, last + (total - last) / 1000);
  return {
    method: "notifications/progress",
    params: { progressToken: token, progress: value, total, message: cleanText(text) },
  };
}

/**
 * The end of an operation that was started, for a client that asked for progress; the operation itself for others, who ask for it with
 * getOperation. A client that no longer waits does not end it.
 */
export async function followed(
  started: Answer,
  read: (given: Arguments) => Promise<Answer>,
  { mcpReq }: ServerContext,
): Promise<Answer> {
  const token = mcpReq._meta?.progressToken;
  const { id } = started.body;
  let last = started;
  let sent: number | undefined;
  if (token === undefined || started.status !== acceptedStatus || !atWork.has(String(started.body["status"])))
    return started;
  while (atWork.has(String(last.body["status"])) && !mcpReq.signal.aborted) {
    const notification = notificationOf(token, last.body, sent);
    sent = notification.params.progress;
    await mcpReq.notify(notification);
    const next = await read({ id, wait });
    if (next.status >= 400) return next;
    last = next;
  }
  return last;
}
