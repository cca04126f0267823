import { expect, it } from "vitest";
import { createLineWriter } from "./line-writer.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A file descriptor that takes so many bytes at a time, or throws what it is given. */
function fakeFd(behaviour: { takes?: number; fails?: string } = {}) {
  const calls: string[] = [];
  const write = ((_fd: number, bytes: Buffer) => {
    if (behaviour.fails !== undefined) throw Object.assign(new Error("no"), { code: behaviour.fails });
    const taken = bytes.subarray(0, behaviour.takes ?? bytes.length);
    calls.push(taken.toString());
    return taken.length;
  }) as never;
  return { behaviour, calls, write };
}

it("the line writer writes the lines of one turn with one call", async () => {
  const { calls, write } = fakeFd();
  const writer = createLineWriter(1, write);
  writer.write("a\n");
  writer.write("ü\n");
  expect(calls).toEqual([]);
  await turn();
  writer.write("c\n");
  await turn();
  expect(calls).toEqual(["a\nü\n", "c\n"]);
});

it("the line writer flushes at once on request, and continues a short write", () => {
  const { calls, write } = fakeFd({ takes: 3 });
  const writer = createLineWriter(1, write);
  writer.write("abcdefgh\n");
  writer.flush();
  expect(calls).toEqual(["abc", "def", "gh\n"]);
});

it("the line writer buffers lines while the pipe is full", async () => {
  const fd = fakeFd({ fails: "EAGAIN" });
  const writer = createLineWriter(1, fd.write);
  writer.write("a\n");
  writer.flush();
  writer.write("b\n");
  writer.flush();
  delete fd.behaviour.fails;
  await expect.poll(() => fd.calls.join("")).toBe("a\nb\n");
  expect(writer.dropped()).toBe(0);
});

it("the line writer drops lines beyond its bound, and after the reader is gone", () => {
  const fd = fakeFd({ fails: "EAGAIN" });
  const writer = createLineWriter(1, fd.write);
  for (let count = 0; count < 100; count += 1) {
    writer.write("x".repeat(100_000));
    writer.flush();
  }
  expect(writer.dropped()).toBeGreaterThan(50);
  const gone = createLineWriter(1, fakeFd({ fails: "EPIPE" }).write);
  gone.write("a\n");
  gone.flush();
  expect(gone.dropped()).toBe(1);
});

it("the line writer writes an urgent line behind the waiting ones before it returns, or throws", () => {
  const { calls, write } = fakeFd({ takes: 4 });
  const writer = createLineWriter(1, write);
  writer.write("before\n");
  writer.writeNow("now\n");
  expect(calls.join("")).toBe("before\nnow\n");
  const gone = createLineWriter(1, fakeFd({ fails: "EPIPE" }).write);
  expect(() => gone.writeNow("a\n")).toThrow("cannot write a line");
});
