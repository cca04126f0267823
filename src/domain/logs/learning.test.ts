import { expect, it } from "vitest";
import { JournalUnavailable } from "#domain/ports/journal.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { keepLearning } from "./learning.ts";

it("templates are remembered a minute after the start and every five minutes, in turns with pauses, and after a failure too", async () => {
  const clock = createFakeClock();
  const troubles: unknown[] = [];
  let turns = 0;
  let failure: Error | undefined;
  const learnTemplates = () => {
    turns += 1;
    return failure === undefined ? Promise.resolve(turns % 3 === 0) : Promise.reject(failure);
  };
  const stop = keepLearning({ journal: { learnTemplates }, clock, onTrouble: (error) => void troubles.push(error) });
  await clock.advance(59_000);
  expect(turns).toBe(0);
  await clock.advance(1_000);
  expect(turns).toBe(1);
  await clock.advance(1_000);
  expect(turns).toBe(2);
  await clock.advance(238_000);
  expect(turns).toBe(3);
  failure = new JournalUnavailable("permission denied");
  await clock.advance(1_000);
  expect([turns, troubles]).toEqual([4, []]);
  failure = new Error("no space");
  await clock.advance(300_000);
  expect([turns, troubles]).toEqual([5, [failure]]);
  stop();
  await clock.advance(900_000);
  expect(turns).toBe(5);
});
