import { beforeEach, describe, expect, it } from "vitest";
import type { AuditBreak } from "#domain/ports/audit.ts";
import { createFakeClock, type FakeClock } from "../../../test/fakes/clock.ts";
import { createVerification } from "./verification.ts";

const broken: AuditBreak = { file: "audit-000000000001.log", line: 17, seq: 17, what: "entry 17 was changed" };
const hourMs = 60 * 60_000;

describe("verification of the audit log", () => {
  let clock: FakeClock;
  let answers: (AuditBreak | undefined | Error)[];
  let asked: number[];
  let found: AuditBreak[];
  let failed: unknown[];
  beforeEach(() => {
    clock = createFakeClock();
    [answers, asked, found, failed] = [[], [], [], []];
  });

  const open = () => {
    const verification = createVerification({
      log: {
        verify: () => {
          asked.push(clock.monotonicMs());
          const answer = answers.shift();
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
        },
      },
      clock,
      onFailed: (error) => void failed.push(error),
    });
    verification.onBroken((each) => void found.push(each));
    return verification;
  };
  const asksAfter = async (hours: number): Promise<number> => {
    for (let passed = 0; passed < hours * 6; passed += 1) await clock.advance(hourMs / 6);
    return asked.length;
  };

  it("runs soon after the start, then once a day", async () => {
    open();
    expect(await asksAfter(1)).toBe(0);
    open().start();
    expect(await asksAfter(1)).toBe(1);
    expect(await asksAfter(23)).toBe(1);
    expect(await asksAfter(1)).toBe(2);
    expect(found).toEqual([]);
  });

  it("reports a broken log each time", async () => {
    answers.push(undefined, broken, broken);
    open().start();
    await asksAfter(1);
    expect(found).toEqual([]);
    await asksAfter(50);
    expect(found).toEqual([broken, broken]);
  });

  it("is retried soon when the log could not be read", async () => {
    const error = new Error("an old file was removed");
    answers.push(error, broken);
    open().start();
    await asksAfter(1);
    expect([failed, found]).toEqual([[error], [broken]]);
  });

  it("stops with the service", async () => {
    const verification = open();
    verification.start();
    verification.dispose();
    expect(await asksAfter(30)).toBe(0);
  });
});
