import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createJoiner, createOutbox } from "./outbox.ts";

/** An outbox onto a sink that takes so many writes before it is full. Frames are texts, lost ones are counted in brackets. */
function start(bounds: { frames: number; bytes: number }) {
  let space = 0;
  let written = "";
  let writes = 0;
  let dropped = 0;
  const outbox = createOutbox({
    sink: {
      write(bytes) {
        written += Buffer.from(bytes).toString();
        writes += 1;
        space -= 1;
      },
      isFull: () => space <= 0,
    },
    join: createJoiner(),
    encodeDropped: (count) => Buffer.from(`[${count}] `),
    onDropped: (count) => {
      dropped += count;
    },
    bounds,
  });
  return {
    outbox,
    send: (...texts: string[]) => outbox.send(texts.map((text) => Buffer.from(`${text} `))),
    space: (count: number): void => {
      space = count;
      outbox.flush();
    },
    written: () => written,
    writes: () => writes,
    dropped: () => dropped,
  };
}

describe("the outbox of a WebSocket", () => {
  it("writes at once while there is space", () => {
    const { send, space, written, writes, outbox } = start({ frames: 3, bytes: 100 });
    space(2);
    send("a", "b", "c", "d", "e");
    send("f");
    expect([written(), writes(), outbox.isCongested()]).toEqual(["a b c d e f ", 2, true]);
  });

  it("keeps frames without space, then drops the oldest and reports how many in their place", () => {
    const { send, space, written, dropped, outbox } = start({ frames: 3, bytes: 100 });
    space(1);
    send("a");
    send("b", "c");
    send("d", "e", "f");
    expect([written(), dropped()]).toEqual(["a ", 2]);
    send("g");
    space(1);
    expect([written(), dropped()]).toEqual(["a [3] e f g ", 3]);
    send("h");
    space(5);
    expect([written(), outbox.isCongested()]).toEqual(["a [3] e f g h ", false]);
  });

  it("is bounded in bytes too, and still lets one big frame through", () => {
    const { send, space, written } = start({ frames: 100, bytes: 10 });
    send("aaaa", "bbbb", "cccc");
    send("x".repeat(50));
    space(1);
    expect(written()).toBe(`[3] ${"x".repeat(50)} `);
  });

  it("keeps the order and accounts for every frame", () => {
    const step = fc.oneof(
      fc.nat({ max: 12 }).map((send) => ({ send })),
      fc.nat({ max: 3 }).map((space) => ({ space })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (steps, frames) => {
        const { send, space, written, dropped } = start({ frames, bytes: 1_000 });
        let sent = 0;
        for (const each of steps) {
          if ("space" in each) space(each.space);
          else send(...Array.from({ length: each.send }, (_, at) => `${sent + at}`));
          if ("send" in each) sent += each.send;
        }
        space(Number.MAX_SAFE_INTEGER);
        let expected = 0;
        let lost = 0;
        for (const word of written()
          .trim()
          .split(" ")
          .filter((text) => text !== "")) {
          const mark = /^\[(\d+)\]$/.exec(word)?.[1];
          if (mark === undefined) expect(Number(word)).toBe(expected);
          expected += mark === undefined ? 1 : Number(mark);
          lost += Number(mark ?? 0);
        }
        expect([expected, lost]).toEqual([sent, dropped()]);
      }),
    );
  });

  it("releases the memory of dropped frames", async () => {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("gc");
    if (typeof collect !== "function") throw new Error("cannot collect garbage: V8 has no gc here");
    const { outbox } = start({ frames: 4096, bytes: 2 });
    const sent = Array.from({ length: 100 }, (_, at) => {
      const frame = Buffer.allocUnsafeSlow(1).fill(at);
      outbox.send([frame]);
      return new WeakRef(frame);
    });
    const held = (): number => sent.filter((frame) => frame.deref() !== undefined).length;
    // A reference lives to the end of the turn that made or asked for it.
    for (let turn = 0; turn < 20 && held() > 2; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    expect(held()).toBe(2);
  });
});
