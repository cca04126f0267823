import { expect, it } from "vitest";
import type { Caller } from "#contract/operation.ts";
import type { OperationFrame, StreamSession } from "#contract/streams.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeOperationStore } from "../../../test/fakes/operation-store.ts";
import { createFakeTaskLauncher } from "../../../test/fakes/task-launcher.ts";
import { createOperations } from "./operations.ts";
import { queuedState } from "./state.ts";
import { createOperationStream } from "./stream.ts";

const caller: Caller = { keyId: "k", keyName: "n", credential: "key", scopes: [], expiresAt: null };

function begin() {
  const clock = createFakeClock();
  const store = createFakeOperationStore();
  const launcher = createFakeTaskLauncher();
  let made = 0;
  const kinds = {
    a: { lock: "a", canGoOn: false },
    b: { lock: "b", canGoOn: false },
    c: { lock: "c", canGoOn: false },
  };
  const operations = createOperations({
    ...{ store, launcher, clock, kinds, self: launcher.begin() },
    createId() {
      made += 1;
      return `id-${made}`;
    },
    onTrouble: (error) => expect(error).toBeUndefined(),
  });
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const open = createOperationStream({ operations, encode });
  const connect = (query: { id?: string; cursor?: string } = {}) => {
    const frames: OperationFrame[] = [];
    const send = (sent: readonly Uint8Array[]): void => {
      for (const each of sent) frames.push(JSON.parse(new TextDecoder().decode(each)) as OperationFrame);
    };
    const session = { send } as unknown as StreamSession;
    const client = open(query, caller)(session);
    return {
      frames,
      client,
      seen: () => frames.map(({ id, status, progress }) => `${id} ${status} ${progress.percent}`),
    };
  };
  const start = (kind: keyof typeof kinds): string =>
    operations.start({ kind, input: {}, keyId: "k", idempotencyKey: null }).spec.id;
  const write = (id: string, state: Partial<typeof queuedState>): void =>
    store.write(id, { ...queuedState, status: "running", startedAt: 1, ...state });
  const run = (kind: keyof typeof kinds): string => {
    const id = start(kind);
    store.claim(id, 1, launcher.begin());
    write(id, {});
    return id;
  };
  return { clock, store, operations, connect, start, run, write };
}

it("the stream of operations sends those that have not ended, then each change once, to subscribers of all or of one", async () => {
  const { clock, connect, run, start, write } = begin();
  const ended = run("a");
  write(ended, { status: "done" });
  const first = run("a");
  const all = connect();
  const one = connect({ id: first });
  const other = connect({ id: ended });
  await clock.advance(1_000);
  expect([all.seen(), one.seen(), other.seen()]).toEqual([
    [`${first} running 0`],
    [`${first} running 0`],
    [`${ended} done 0`],
  ]);
  write(first, { percent: 40, step: "unpack" });
  const second = start("b");
  await clock.advance(1_000);
  write(first, { status: "failed", percent: 40 });
  await clock.advance(1_000);
  expect(all.seen().slice(1)).toEqual([`${second} queued 0`, `${first} running 40`, `${first} failed 40`]);
  expect(one.seen().slice(1)).toEqual([`${first} running 40`, `${first} failed 40`]);
  expect(other.seen()).toHaveLength(1);
  // The log and what is only for the service stay out.
  expect(all.frames[0]).not.toHaveProperty("log");
  expect(JSON.stringify(all.frames)).not.toContain("phase");
});

it("the stream of operations resumes after a cursor with all that began or ended meanwhile", async () => {
  const { clock, connect, run, write } = begin();
  const old = run("a");
  write(old, { status: "done" });
  const known = run("a");
  const before = connect();
  await clock.advance(200);
  const cursor = before.frames.at(-1)?.cursor ?? "";
  before.client.dispose();
  write(known, { status: "done" });
  const missed = run("a");
  write(missed, { status: "failed" });
  const running = run("b");
  expect(connect({ cursor }).seen()).toEqual([`${known} done 0`, `${missed} failed 0`, `${running} running 0`]);
  expect(connect().seen()).toEqual([`${running} running 0`]);
});

it("the stream of operations reads nothing without a client", async () => {
  const { clock, store, connect, run } = begin();
  run("a");
  const one = connect();
  const two = connect();
  await clock.advance(1_000);
  one.client.dispose();
  one.client.dispose();
  two.client.dispose();
  await clock.advance(200);
  expect(clock.isSleptBy()).toBe(false);
  let reads = 0;
  const { read } = store;
  Object.assign(store, {
    read(id: string) {
      reads += 1;
      return read(id);
    },
  });
  await clock.advance(1_000);
  expect(reads).toBe(0);
});

it("the stream of operations refuses an unknown id, a malformed cursor and messages", () => {
  const { connect } = begin();
  expect(() => connect({ id: "id-none" })).toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
  for (const cursor of ["../x", "A", "a~", "~", "a ~b", "x".repeat(65)])
    expect(() => connect({ cursor })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
  const { client } = connect();
  expect(() => client.receive({})).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
});
