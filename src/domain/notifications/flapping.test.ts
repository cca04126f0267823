import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flapChanges, flapWindowMs, found, passed, type Step, unknownComponent, type Watched } from "./components.ts";

const minuteMs = 60_000;

/** Runs probes one after the other and notes what was reported, and after how many changes. */
function watch(probes: readonly { readonly isDown: boolean; readonly afterMs: number }[]) {
  let watched: Watched = unknownComponent;
  let changes = 0;
  const notified: {
    readonly what: string;
    readonly isDown: boolean;
    readonly counted: number;
    readonly changes: number;
  }[] = [];
  const take = ({ watched: next, notify }: Step): void => {
    if (next.isDown !== watched.isDown) changes += 1;
    watched = next;
    if (notify !== undefined)
      notified.push({ what: notify.what, isDown: next.isDown, counted: notify.changes, changes });
  };
  for (const { isDown, afterMs } of probes) {
    take(passed(watched, afterMs));
    take(found(watched, isDown));
  }
  return { notified, watched: () => watched, take };
}

const probes = (text: string, afterMs = minuteMs) =>
  text.split("").map((character) => ({ isDown: character === "D", afterMs }));

const words = ({ notified }: ReturnType<typeof watch>): readonly string[] =>
  notified.map(({ what, counted }) => (what === "flaps" || what === "settled" ? `${what} ${counted}` : what));

describe("flap detection of a component", () => {
  it("notifies once when it goes down and once when it is up again, also after rare changes", () => {
    expect(words(watch(probes("UUDDDDUUU")))).toEqual(["down", "up"]);
    expect(words(watch(probes("DDD")))).toEqual(["down"]);
    expect(words(watch(probes("UUU")))).toEqual([]);
    expect(words(watch(probes("DUDUDU", flapWindowMs)))).toEqual(["down", "up", "down", "up", "down", "up"]);
  });

  it("notifies once that it flaps, and once that it has settled after a change", () => {
    const flapping = watch(probes(`${"DU".repeat(10)}${"U".repeat(12)}`));
    expect(words(flapping)).toEqual(["down", "up", "down", `flaps ${flapChanges}`, "settled 20"]);
    expect(flapping.notified.at(-1)).toMatchObject({ isDown: false });
    expect(words(watch(probes(`DUDU${"U".repeat(30)}`)))).toEqual(["down", "up", "down", "flaps 4"]);
  });
});

const anyProbes = fc.array(
  fc.record({ isDown: fc.boolean(), afterMs: fc.integer({ min: 0, max: 2 * flapWindowMs }) }),
  { maxLength: 200 },
);

describe("flap detection over any sequence of probes", () => {
  it("always notifies of a lasting change, never twice without a change, and a few times in any window", () => {
    fc.assert(
      fc.property(anyProbes, (sequence) => {
        const run = watch(sequence);
        run.take(passed(run.watched(), flapWindowMs));
        expect(run.notified.at(-1)?.isDown ?? false).toBe(run.watched().isDown);
        expect(run.watched().pending).toBe(0);
      }),
    );
    fc.assert(
      fc.property(anyProbes, (sequence) => {
        const run = watch(sequence);
        run.take(passed(run.watched(), flapWindowMs));
        run.take(passed(run.watched(), flapWindowMs));
        const at = run.notified.map(({ changes }) => changes);
        expect(new Set(at).size).toBe(at.length);
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 100 }), (sequence) => {
        const run = watch(sequence.map((isDown) => ({ isDown, afterMs: 5_000 })));
        expect(run.notified.length).toBeLessThanOrEqual(flapChanges);
      }),
    );
  });
});
