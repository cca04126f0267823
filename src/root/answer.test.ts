import { afterEach, expect, it, vi } from "vitest";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { answerRequest } from "./answer.ts";

afterEach(() => void vi.useRealTimers());

it("a read that hears of no end is given up some time after it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const caller = new AbortController();
  const answer = answerRequest(
    { id: `request-${"0".repeat(32)}`, task: "users.list", input: {} },
    {
      config: { settings: {} } as Parameters<typeof answerRequest>[1]["config"],
      host: {} as Parameters<typeof answerRequest>[1]["host"],
      exec: () => new Promise(() => undefined),
      log: { warn: () => undefined, error: () => undefined },
      record: () => undefined,
      cancelled: caller.signal,
      announce: () => Promise.resolve(),
    },
  ).catch((error: unknown) => error);
  caller.abort(new Error("cancelled by the service"));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(findUnavailable(await answer)).toMatchObject({
    message: "cannot finish users.list: something on the host gives no answer",
    details: { retryable: true },
  });
});
