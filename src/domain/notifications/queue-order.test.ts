import fc from "fast-check";
import { expect, it } from "vitest";
import type { StoredNotification } from "#domain/ports/notifications.ts";
import { createQueueOrder } from "./queue-order.ts";

const notification = (id: string, subject: string, attempts = 0): StoredNotification => ({
  id,
  kind: "alert_firing",
  subject,
  channel: "chat",
  to: [],
  message: { id, at: 0, isGood: false, title: subject, facts: [] },
  attempts,
  outcome: "queued",
  error: null,
  endedAt: null,
});

it("after a restart all notifications are due, those never tried first", () => {
  const [tried, untried] = [notification("1", "a", 7), notification("2", "b")];
  expect(createQueueOrder(() => 0).turn([untried, tried])).toEqual({ next: untried });
  expect(createQueueOrder(() => 0).turn([tried, untried])).toEqual({ next: untried });
});

it("when all notifications pause, the one that is due first is next, at its time", () => {
  let nowMs = 0;
  const turns = createQueueOrder(() => nowMs);
  const queued = [notification("1", "a", 2), notification("2", "b", 1)];
  for (const [index, each] of queued.entries()) turns.pause(each, queued, index === 0 ? 20 : 10);
  expect(turns.turn(queued)).toEqual({ waitMs: 10 });
  nowMs = 10;
  expect(turns.turn(queued)).toEqual({ next: queued[1] });
});

it("a notification that pauses is overtaken by other subjects, not by a later one of its own", () => {
  let nowMs = 0;
  const turns = createQueueOrder(() => nowMs);
  const [failed, later, other] = [notification("1", "a", 1), notification("2", "a", 1), notification("3", "b", 1)];
  const queued = [failed, later, other];
  expect(turns.turn(queued)).toEqual({ next: failed });
  turns.pause(failed, queued, 10);
  expect(turns.turn(queued)).toEqual({ next: other });
  expect(turns.turn([failed, later])).toEqual({ waitMs: 10 });
  nowMs = 10;
  expect(turns.turn([failed, later])).toEqual({ next: failed });
});

it("a notification that has failed for long holds up no later one of its subject", () => {
  const turns = createQueueOrder(() => 0);
  const [failed, later] = [notification("1", "a", 7), notification("2", "a")];
  turns.pause(failed, [failed], 10);
  turns.added(later, [failed, later]);
  expect(turns.turn([failed, later])).toEqual({ next: failed });
  turns.pause(failed, [failed, later], 10);
  expect(turns.turn([failed, later])).toEqual({ next: later });
});

it("a notification that shares a check with a queued group goes after it", () => {
  const turns = createQueueOrder(() => 0);
  const checks = (id: string, subject: string, attempts: number): StoredNotification => ({
    ...notification(id, subject, attempts),
    kind: "check_failed",
  });
  const queued = [checks("1", "a", 1), checks("2", "a, b", 1), checks("3", "b", 0)];
  expect(turns.turn(queued)).toEqual({ next: queued[0] });
  turns.pause(queued[0] ?? checks("1", "a", 1), queued, 10);
  expect(turns.turn(queued)).toEqual({ waitMs: 10 });
});

const step = fc.oneof(
  fc.record({ subject: fc.constantFrom("a", "b", "c") }),
  fc.record({ failures: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ ms: fc.integer({ min: 0, max: 100 }) }),
);

it("after any failures, all notifications are sent, those of each subject in order", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      let nowMs = 0;
      let queued: readonly StoredNotification[] = [];
      const turns = createQueueOrder(() => nowMs);
      const next = (): StoredNotification | undefined => {
        const turn = turns.turn(queued);
        return turn !== undefined && "next" in turn ? turn.next : undefined;
      };
      const fail = (failed: StoredNotification): void => {
        const attempts = failed.attempts + 1;
        queued = queued.map((each) => (each.id === failed.id ? { ...failed, attempts } : each));
        turns.pause(failed, queued, 10 * 2 ** Math.min(attempts, 8));
      };
      for (const [index, each] of steps.entries()) {
        if ("ms" in each) nowMs += each.ms;
        else if ("subject" in each) {
          const added = notification(String(index), each.subject);
          queued = [...queued, added];
          turns.added(added, queued);
        } else {
          for (let left = each.failures; left > 0; left -= 1) {
            const failed = next();
            if (failed !== undefined) fail(failed);
          }
        }
      }
      for (let failed = next(); failed !== undefined; failed = next()) fail(failed);
      const taken: StoredNotification[] = [];
      for (let turn = turns.turn(queued); turn !== undefined; turn = turns.turn(queued)) {
        if ("waitMs" in turn) {
          expect(turn.waitMs).toBeGreaterThan(0);
          nowMs += turn.waitMs;
          continue;
        }
        const { next: sent } = turn;
        taken.push(sent);
        queued = queued.filter(({ id }) => id !== sent.id);
        turns.ended(sent.id);
      }
      for (const subject of ["a", "b", "c"]) {
        const ids = taken.filter((each) => each.subject === subject).map(({ id }) => Number(id));
        expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      }
    }),
  );
});
