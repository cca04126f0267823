import { describe, expect, it } from "vitest";
import { SerializedJson } from "#contract/operation.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { JournalUnavailable, LogQueryRefused } from "#domain/ports/journal.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createLogReader } from "./reader.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const base: LogQuery = {
  units: undefined,
  since: 0,
  until: 1,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
  limit: 1,
};

/** A reader of a journal that answers when it is asked to. */
function start() {
  const clock = createFakeClock();
  const held: {
    readonly grep: string | undefined;
    readonly signal: AbortSignal;
    readonly end: (error?: Error) => void;
  }[] = [];
  const reader = createLogReader({
    clock,
    journal: {
      query: ({ grep }, signal) =>
        new Promise((resolve, reject) => {
          held.push({
            grep,
            signal,
            end: (error) => (error === undefined ? resolve(new SerializedJson(new Uint8Array())) : reject(error)),
          });
        }),
    },
  });
  const ask = (owner: string, grep?: string, signal = new AbortController().signal) => {
    const reading = reader.read({ ...base, grep }, { owner, signal });
    reading.catch(() => undefined);
    return reading;
  };
  return { clock, held, ask, asked: () => held.map(({ grep }) => grep) };
}

describe("queries of the journal", () => {
  it("of one key hold up no other key, and wait for no search where they search nothing", async () => {
    const { held, ask, asked } = start();
    const all = Array.from({ length: 10 }, (_, at) => ask("a", `a${at}`));
    all.push(ask("b", "b0"), ask("a"), ask("b"));
    await settle();
    expect(asked()).toEqual(["a0", "a1", "b0", undefined, undefined]);
    for (let at = 0; at < 13; at += 1) {
      held[at]?.end();
      await settle();
    }
    await Promise.all(all);
  });

  it("beyond the share of a key are refused, with the time after which to retry", async () => {
    const { clock, held, ask } = start();
    for (let at = 0; at < 10; at += 1) void ask("a", "x");
    await expect(ask("a", "x")).rejects.toMatchObject({
      code: "RATE_LIMITED",
      message: "too many searches of this key at once: 2 run while 8 wait (try again in 1 s)",
      details: { running: 2, waiting: 8, retry_after_seconds: 1 },
    });
    await clock.advance(20_000);
    held[0]?.end();
    await settle();
    void ask("a", "x");
    await expect(ask("a", "x")).rejects.toMatchObject({ details: { retry_after_seconds: 6 } });
    void ask("b", "x");
    await settle();
    expect(held.length).toBe(4);
  });

  it("are ended after 45 s, the wait for their turn included", async () => {
    const { clock, held, ask } = start();
    const all = Array.from({ length: 5 }, () => ask("a", "x"));
    await settle();
    await clock.advance(44_999);
    held[0]?.end();
    await expect(all[0]).resolves.toBeInstanceOf(SerializedJson);
    await clock.advance(1);
    for (const late of all.slice(1)) {
      await expect(late).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(/^cannot answer within 45 s: .* \(narrow the window, or try again later\)$/),
        details: { missing: "journal", retryable: true },
      });
    }
    expect(held.every(({ signal }) => signal.aborted)).toBe(true);
  });

  it("are dropped when their caller goes, in the queue or running", async () => {
    const { held, ask, asked } = start();
    const gone = new AbortController();
    const left = [ask("a", "run", gone.signal), ask("a", "run"), ask("a", "wait", gone.signal), ask("a", "last")];
    await settle();
    gone.abort();
    await settle();
    expect(held[0]?.signal.aborted).toBe(true);
    expect(asked()).toEqual(["run", "run", "last"]);
    for (const at of [0, 2]) await expect(left[at]).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("report what the journal refuses, and that it cannot be read", async () => {
    const { held, ask } = start();
    const [refused, unreadable, failed] = [ask("a"), ask("b"), ask("c")];
    await settle();
    held[0]?.end(new LogQueryRefused("cursor", "Must be the cursor of a log entry"));
    held[1]?.end(new JournalUnavailable("no permission"));
    held[2]?.end(new Error("fault"));
    await expect(refused).rejects.toMatchObject({ code: "VALIDATION_ERROR", details: { field: "cursor" } });
    await expect(unreadable).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot read the journal: no permission",
    });
    await expect(failed).rejects.toThrow("fault");
  });
});
