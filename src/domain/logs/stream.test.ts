import fc from "fast-check";
import { expect, it } from "vitest";
import type { StreamClient, StreamError, StreamSession } from "#contract/streams.ts";
import { DomainError } from "#domain/common/error.ts";
import { LogQueryRefused } from "#domain/ports/journal.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeGrep } from "../../../test/fakes/grep.ts";
import { createFakeJournal } from "../../../test/fakes/journal.ts";
import { createLogStream } from "./stream.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const caller = { keyId: "k", keyName: "k", credential: "key", scopes: ["logs:read"], expiresAt: null } as const;
const decoder = new TextDecoder();

/** A session that a test can hold up. */
function fakeSession() {
  const messages: string[] = [];
  const errors: StreamError[] = [];
  const closed: number[] = [];
  let isCongested = false;
  let release = (): void => undefined;
  const session: StreamSession = {
    send(frames) {
      for (const frame of frames) messages.push((JSON.parse(decoder.decode(frame)) as { message: string }).message);
    },
    report: (error) => void errors.push(error),
    isCongested: () => isCongested,
    drained: () =>
      new Promise((resolve) => {
        release = resolve;
      }),
    close: (code) => void closed.push(code),
  };
  return {
    session,
    messages,
    errors,
    closed,
    congest(value: boolean) {
      isCongested = value;
      if (!value) release();
    },
  };
}

/** The stream on fakes that count what it asks of them. */
function start() {
  const journal = createFakeJournal([{ message: "before" }]);
  const clock = createFakeClock();
  const grep = createFakeGrep();
  const follows: (string | undefined)[] = [];
  const open = new Set<object>();
  let encoded = 0;
  let searches = 0;
  let passes = 0;
  let searchTurns = 0;
  const stream = createLogStream({
    clock,
    journal: {
      async *follow(options, signal) {
        const me = {};
        follows.push(options.cursor);
        open.add(me);
        try {
          yield* journal.follow(options, signal);
        } finally {
          open.delete(me);
        }
      },
      missing: journal.missing,
      query: journal.query,
    },
    grep: {
      async matching(all) {
        passes += 1;
        searches += all.length;
        for (let turn = 0; turn < searchTurns; turn += 1) await settle();
        return grep.matching(all);
      },
    },
    encode(json) {
      encoded += 1;
      return new TextEncoder().encode(json);
    },
    unitsOf: () => "all",
    scopeLack: (_, scope) => new DomainError("FORBIDDEN", scope),
    onTrouble: () => undefined,
  });
  const attach = (query: { cursor?: string; grep?: string; unit?: string } = {}) => {
    const fake = fakeSession();
    const client: StreamClient = stream.open(query, caller)(fake.session);
    return { ...fake, client };
  };
  const quiet = async (): Promise<void> => {
    for (let turn = 0; turn < 20 + searchTurns * 10; turn += 1) await settle();
  };
  return {
    journal,
    clock,
    grep,
    follows,
    open,
    stream,
    attach,
    quiet,
    encoded: () => encoded,
    searches: () => searches,
    passes: () => passes,
    slowSearch: (turns: number): void => {
      searchTurns = turns;
    },
  };
}

it("the log stream follows once for all clients and once for those that search, and encodes and searches once for equal filters", async () => {
  const { journal, follows, attach, quiet, encoded, searches } = start();
  const plain = Array.from({ length: 50 }, () => attach());
  const searching = Array.from({ length: 50 }, () => attach({ grep: "o" }));
  const before = searches();
  journal.write({ message: "one" });
  journal.write({ message: "twice" });
  await quiet();
  expect(follows).toEqual([undefined, undefined]);
  expect([encoded(), searches() - before]).toEqual([3, 1]);
  for (const { messages } of plain) expect(messages).toEqual(["one", "twice"]);
  for (const { messages } of searching) expect(messages).toEqual(["one"]);
});

it("the log stream searches for the expressions of all clients in one pass", async () => {
  const { journal, follows, attach, quiet, grep, passes } = start();
  const given: unknown[] = [];
  const { matching } = grep;
  grep.matching = (all) => {
    given.push(new Set(all.map(({ messages }) => messages)).size);
    return matching(all);
  };
  const clients = Array.from({ length: 200 }, (_, number) => attach({ grep: `entry ${number}$` }));
  for (let number = 0; number < 200; number += 1) journal.write({ message: `entry ${number}` });
  await quiet();
  expect(clients.map(({ messages }) => messages)).toEqual(clients.map((_, number) => [`entry ${number}`]));
  expect([follows, passes()]).toEqual([[undefined], given.length]);
  expect(given).toEqual(given.map(() => 1));
  // As many as there were batches, whatever the number of clients.
  expect(given.length).toBeLessThanOrEqual(2);
});

it("the log stream loses nothing to slow searches, and holds up no client without one", async () => {
  const { journal, follows, attach, quiet, slowSearch } = start();
  const searching = Array.from({ length: 200 }, (_, number) => attach({ grep: `entry \\d*${number}$` }));
  const plain = attach();
  slowSearch(50);
  for (let at = 0; at < 6_000; at += 1) {
    journal.write({ message: `entry ${at}` });
    if (at % 500 === 0) await settle();
  }
  await settle();
  expect(plain.messages.length).toBeGreaterThan(5_000);
  slowSearch(0);
  for (let turn = 0; turn < 50; turn += 1) await quiet();
  const all = Array.from({ length: 6_000 }, (_, at) => `entry ${at}`);
  for (const [number, { messages }] of searching.entries()) {
    expect(messages).toEqual(all.filter((message) => message.endsWith(String(number))));
  }
  expect(follows).toHaveLength(2);
});

it("the log stream follows before its client is admitted, and ends when it never comes", async () => {
  const { clock, follows, open, stream, attach, quiet } = start();
  stream.open({}, caller);
  expect([follows, open.size]).toEqual([[undefined], 1]);
  await clock.advance(5_000);
  await quiet();
  expect(open.size).toBe(0);
  stream.open({}, caller);
  await clock.advance(4_000);
  attach();
  await clock.advance(60_000);
  expect([follows.length, open.size]).toEqual([2, 1]);
});

it("the log stream ends some time after its last client, and starts again with the next", async () => {
  const { journal, clock, follows, open, attach, quiet } = start();
  const first = attach();
  first.client.dispose();
  await clock.advance(4_000);
  const second = attach();
  await clock.advance(60_000);
  expect([follows, open.size]).toEqual([[undefined], 1]);
  second.client.dispose();
  await clock.advance(5_000);
  await quiet();
  expect(open.size).toBe(0);
  journal.write({ message: "unseen" });
  const third = attach();
  journal.write({ message: "seen" });
  await quiet();
  expect([follows.length, third.messages]).toEqual([2, ["seen"]]);
});

it("a client of the log stream that has caught up joins the shared follower", async () => {
  const { journal, follows, open, attach, quiet } = start();
  const cursor = journal.write({ message: "start" });
  journal.write({ message: "one" });
  const client = attach({ cursor });
  await quiet();
  expect([follows, open.size]).toEqual([[undefined, cursor], 2]);
  journal.write({ message: "two" });
  await quiet();
  expect(open.size).toBe(1);
  journal.write({ message: "three" });
  await quiet();
  expect(client.messages).toEqual(["one", "two", "three"]);
  client.client.dispose();
});

it("the log stream reads no further than a client that catches up can take", async () => {
  const { journal, attach, quiet } = start();
  const cursor = journal.write({ message: "start" });
  for (let at = 0; at < 1000; at += 1) journal.write({ message: `${at}` });
  const client = attach({ cursor });
  client.congest(true);
  await quiet();
  expect(client.messages.length).toBeLessThanOrEqual(64);
  client.congest(false);
  await quiet();
  expect(client.messages).toEqual(Array.from({ length: 1000 }, (_, at) => `${at}`));
});

it("a client whose cursor the journal refuses is closed with the reason", async () => {
  const { journal, attach, quiet } = start();
  const cursor = journal.write({ message: "start" });
  const follow = journal.follow;
  Object.assign(journal, {
    async *follow(options: { cursor: string | undefined }, signal: AbortSignal) {
      if (options.cursor !== undefined) throw new LogQueryRefused("cursor", "Of another machine");
      yield* follow(options, signal);
    },
  });
  // The feed has moved on, so that it cannot serve the client itself.
  const other = attach();
  const { errors, closed } = attach({ cursor });
  await quiet();
  expect([errors, closed]).toMatchObject([[{ code: "VALIDATION_ERROR", details: { field: "cursor" } }], [1008]]);
  expect(other.closed).toEqual([]);
});

type Step =
  | { readonly kind: "write"; readonly count: number }
  | { readonly kind: "filter"; readonly client: number; readonly grep: string | null; readonly unit: string | null }
  | { readonly kind: "congest"; readonly client: number; readonly value: boolean }
  | { readonly kind: "join"; readonly cursor: number | undefined; readonly grep: string | undefined }
  | { readonly kind: "leave"; readonly client: number }
  | { readonly kind: "turns"; readonly count: number }
  | { readonly kind: "search"; readonly turns: number };

const who = fc.nat({ max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("write" as const), count: fc.integer({ min: 1, max: 20 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("filter" as const),
      client: who,
      grep: fc.constantFrom("[05]$", "[0-9]", "5", null),
      unit: fc.constantFrom("a", "*", null),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("congest" as const), client: who, value: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("join" as const),
      cursor: fc.option(fc.nat({ max: 60 }), { nil: undefined }),
      grep: fc.constantFrom("5", undefined),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), client: who }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("turns" as const), count: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("search" as const), turns: fc.integer({ min: 0, max: 12 }) }) },
);

it("every client of the log stream gets each entry at most once, in order, and all that pass every filter it had", async () => {
  const run = async (steps: readonly Step[]): Promise<void> => {
    const { journal, attach, quiet, stream, slowSearch } = start();
    const cursors: string[] = [];
    const clients: {
      readonly from: number;
      until: number | undefined;
      readonly greps: RegExp[];
      isAll: boolean;
      readonly one: Awaited<ReturnType<typeof attach>>;
    }[] = [];
    const write = (count: number): void => {
      for (let at = 0; at < count; at += 1) {
        const number = cursors.length;
        cursors.push(journal.write({ message: `${number}`, unit: number % 2 === 0 ? "a.service" : "b.service" }));
      }
    };
    slowSearch(3);
    const begin: readonly Step[] = [
      { kind: "join", cursor: undefined, grep: undefined },
      { kind: "join", cursor: undefined, grep: "5" },
      { kind: "join", cursor: undefined, grep: "5" },
      { kind: "write", count: 10 },
    ];
    for (const each of [...begin, ...steps]) {
      const client = "client" in each ? clients[each.client] : undefined;
      if (each.kind === "write") write(each.count);
      if (each.kind === "turns") for (let at = 0; at < each.count; at += 1) await settle();
      if (each.kind === "search") slowSearch(each.turns);
      if (each.kind === "congest") client?.one.congest(each.value);
      if (each.kind === "join" && clients.length < 8) {
        const cursor = each.cursor === undefined ? undefined : cursors[each.cursor];
        const one = attach({ ...(cursor !== undefined && { cursor }), ...(each.grep && { grep: each.grep }) });
        const from = cursor === undefined ? cursors.length : cursors.indexOf(cursor) + 1;
        clients.push({ from, until: undefined, greps: each.grep ? [new RegExp(each.grep)] : [], isAll: true, one });
      }
      if (client === undefined || client.until !== undefined) continue;
      if (each.kind === "leave") {
        client.until = cursors.length;
        client.one.client.dispose();
      }
      if (each.kind === "filter") {
        client.one.client.receive({ type: "filter", grep: each.grep, unit: each.unit });
        if (each.grep !== null) client.greps.push(new RegExp(each.grep));
        if (each.unit === "a") client.isAll = false;
      }
    }
    slowSearch(0);
    for (const { one } of clients) one.congest(false);
    for (let turn = 0; turn < 20; turn += 1) await quiet();
    write(1);
    for (let turn = 0; turn < 3; turn += 1) await quiet();
    for (const { from, until, greps, isAll, one } of clients) {
      const numbers = one.messages.map(Number);
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      expect(one.errors).toEqual([]);
      if (until !== undefined) continue;
      const got = new Set(numbers);
      const due = cursors
        .map((_, number) => number)
        .filter((number) => number >= from && (isAll || number % 2 === 0))
        .filter((number) => greps.every((grep) => grep.test(String(number))));
      expect(due.filter((number) => !got.has(number))).toEqual([]);
      one.client.dispose();
    }
    stream.dispose();
  };
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), run), { numRuns: 200 });
});

it("the log stream runs no searches of clients that have gone, and none to check an expression", async () => {
  const { journal, attach, quiet, slowSearch, searches, passes } = start();
  const gone = Array.from({ length: 20 }, (_, at) => attach({ grep: `never ${at}` }));
  await quiet();
  expect(searches()).toBe(0);
  slowSearch(3);
  journal.write({ message: "entry" });
  await settle();
  for (const { client } of gone) client.dispose();
  expect(searches()).toBe(20);
  const left = attach({ grep: "entry" });
  journal.write({ message: "entry again" });
  await quiet();
  expect(left.messages).toEqual(["entry again"]);
  // The pass that was under way when they went, and the search that was wanted.
  expect([passes(), searches()]).toEqual([2, 21]);
});
