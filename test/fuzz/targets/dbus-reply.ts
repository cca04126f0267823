import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { managerInterface, propertiesInterface, serviceInterface, unitInterface } from "#adapters/systemd/calls.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import { type Unit, UnitRefused, UnitsUnavailable } from "#domain/ports/units.ts";
import { defaultServicePolicy } from "#domain/system/service-policy.ts";
import { createFakeClock } from "../../fakes/clock.ts";
import type { Random } from "../../support/random.ts";
import { expectThat, type FuzzTarget } from "../target.ts";

/*
 * An input is what a bus sends after the handshake: records of two bytes of length and so many bytes. The n-th is sent when the n-th
 * message of the client has come, those beyond at once; then the bus hangs up. The client numbers its messages from 1, so a seed can
 * hold replies to all of them.
 */

const marshallModule: unknown = createRequire(import.meta.url)("dbus-native/lib/message.js");
const { marshall } = marshallModule as { readonly marshall: (message: object) => Buffer };

const unitPath = "/org/freedesktop/systemd1/unit/a_2eservice";
const systemd = ":1.5";
const busName = "org.freedesktop.DBus";
const reply = (serial: number, signature = "", body: readonly unknown[] = []): Buffer =>
  marshall({ type: 2, serial: serial + 100, replySerial: serial, sender: systemd, signature, body: [...body] });
const failure = (serial: number, errorName: string, text: string): Buffer =>
  marshall({
    type: 3,
    serial: serial + 100,
    replySerial: serial,
    sender: systemd,
    errorName,
    signature: "s",
    body: [text],
  });
const signal = (path: string, member: string, from: string, signature: string, body: readonly unknown[]): Buffer =>
  marshall({ type: 4, serial: 900, path, interface: from, member, sender: systemd, signature, body: [...body] });

const row = (name: string) => [name, "Runs", "loaded", "active", "running", "", unitPath, 0, "", "/"];
const unitProperties: readonly unknown[] = [
  ["Id", ["s", "a.service"]],
  ["ActiveState", ["s", "active"]],
  ["ActiveEnterTimestamp", ["t", 1_700_000_000_000_000n]],
  ["UnitFileState", ["s", "enabled"]],
];
const serviceProperties: readonly unknown[] = [
  ["MainPID", ["u", 7]],
  ["NRestarts", ["u", 1]],
  ["Result", ["s", "success"]],
  ["MemoryCurrent", ["t", 0xffff_ffff_ffff_ffffn]],
  ["ControlGroup", ["s", "/system.slice/a.service"]],
];
/** Replies to Hello, to three match rules, to the question for systemd's address, and to Subscribe. */
const greeting = [
  reply(1, "s", [":1.9"]),
  ...[2, 3, 4].map((serial) => reply(serial)),
  reply(5, "s", [systemd]),
  reply(6),
];
const listing = reply(7, "a(ssssssouso)", [[row("a.service"), row("b.service")]]);
const changed = signal(unitPath, "PropertiesChanged", propertiesInterface, "sa{sv}as", [
  unitInterface,
  [["ActiveState", ["s", "failed"]]],
  [],
]);

/**
 * Arrays of nothing, such as `ar` and `a()`, which the library reads without an end. The bus checks the signatures of what it
 * passes on, so that no peer can send them; anyone who is the bus is root.
 */
const refusedByBus = /a(?:[re*?@&^m]|\(\)|\{\})/;

const script = (messages: readonly Buffer[]): Buffer =>
  Buffer.concat(
    messages.flatMap((message) => {
      const length = Buffer.alloc(2);
      length.writeUInt16LE(message.length);
      return [length, message];
    }),
  );

function recordsOf(input: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at + 2 <= input.length; ) {
    const end = Math.min(input.length, at + 2 + input.readUInt16LE(at));
    records.push(input.subarray(at + 2, end));
    at = end;
  }
  return records;
}

/** Replies to whatever is asked next, by turns properties of a unit and of a service. */
const answers = (from: number, count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, at) =>
    reply(from + at, "a{sv}", [at % 2 === 0 ? unitProperties : serviceProperties]),
  );

const serialsFrom = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => first + at);
const seeds: readonly (readonly Buffer[])[] = [
  [],
  greeting,
  [...greeting, listing],
  [...greeting, listing, ...answers(8, 24)],
  [
    ...greeting,
    reply(7, "a(ssssssouso)", [[]]),
    reply(8, "v", [["as", ["/etc/systemd/system"]]]),
    reply(9, "a(ss)", [[["/etc/systemd/system/a.service", "enabled"]]]),
    changed,
    ...answers(10, 12),
  ],
  [
    ...greeting,
    listing,
    ...serialsFrom(8, 5).map((serial) => reply(serial, "v", [["s", "x"]])),
    changed,
    signal("/org/freedesktop/systemd1", "JobRemoved", managerInterface, "uoss", [1, "/job/1", "a.service", "done"]),
  ],
  // What should be an object path is none.
  [...greeting, listing, ...answers(8, 6), ...serialsFrom(14, 16).map((serial) => reply(serial, "s", ["x y"]))],
  [...greeting, failure(7, "org.freedesktop.DBus.Error.AccessDenied", "no")],
  [...greeting, failure(7, "org.freedesktop.systemd1.NoSuchUnit", "no")],
  [
    ...greeting,
    marshall({
      ...{ type: 4, serial: 901, path: "/org/freedesktop/DBus", interface: busName, member: "NameOwnerChanged" },
      ...{ sender: busName, signature: "sss", body: ["org.freedesktop.systemd1", systemd, ":1.6"] },
    }),
    listing,
  ],
];

/** Changes one message and keeps the others, or makes another of two. */
function mutate(input: Buffer, random: Random): Buffer | undefined {
  const records = recordsOf(input);
  if (records.length === 0) return undefined;
  const at = random.integer(records.length);
  const record = Buffer.from(records[at] ?? "");
  const letters = [...record.toString("latin1").matchAll(/[()a-z{}]{2,}/g)];
  switch (random.integer(5)) {
    case 0:
      records.splice(at, 1);
      return script(records);
    case 1:
      records.splice(random.integer(records.length), 0, record);
      return script(records);
    case 2:
      // A member of the header: type, lengths, the serial that is replied to.
      if (record.length < 24) return undefined;
      record[random.pick([0, 1, 3, 4, 8, 12, 16, 20]) + random.integer(2)] = random.integer(256);
      break;
    case 3: {
      // Another type in a signature: the longer ones of them are words of their letters.
      if (letters.length === 0) return undefined;
      const place = random.pick(letters);
      const type = random.pick("ybnqiuxtdsogav(){}h".split(""));
      record[place.index + random.integer(place[0].length)] = type.charCodeAt(0);
      break;
    }
    default:
      if (record.length === 0) return undefined;
      record[random.integer(record.length)] = random.integer(256);
  }
  records[at] = record;
  return script(records);
}

/** The client's messages in what it has sent, by the lengths in their headers. */
function countMessages(sent: Buffer): number {
  let count = 0;
  for (let at = 0; at + 16 <= sent.length; count += 1) {
    const end = at + 16 + Math.ceil(sent.readUInt32LE(at + 12) / 8) * 8 + sent.readUInt32LE(at + 4);
    if (end > sent.length) break;
    at = end;
  }
  return count;
}

const mostQuietTurns = 20;

/** Plays the bus on one connection. */
function play(socket: Socket, records: readonly Buffer[]): void {
  let received = Buffer.alloc(0);
  let isGreeted = false;
  let startedAt = -1;
  let sent = 0;
  let quietTurns = 0;
  let isWatched = false;
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes) => {
    received = Buffer.concat([received, bytes]);
    if (!isGreeted && received.includes("\r\n")) {
      isGreeted = true;
      socket.write(`OK ${"0".repeat(32)}\r\n`);
    }
    const begin = received.indexOf("BEGIN\r\n");
    if (startedAt < 0 && begin >= 0) startedAt = begin + 7;
    if (startedAt < 0) return;
    const asked = countMessages(received.subarray(startedAt));
    for (; sent < Math.min(asked, records.length); sent += 1) socket.write(records[sent] ?? "");
    quietTurns = 0;
    if (!isWatched) watch();
    isWatched = true;
  });
  /** Client and bus share an event loop: what has not come after so many of its turns is not on its way. */
  const watch = (): void => {
    quietTurns += 1;
    if (quietTurns < mostQuietTurns) setImmediate(watch);
    // What nobody asked for.
    else socket.end(Buffer.concat(records.slice(sent)));
  };
}

const isUnit = (unit: Unit): boolean =>
  [unit.name, unit.description, unit.loadState, unit.activeState, unit.subState, unit.unitFileState, unit.result].every(
    (text) => typeof text === "string",
  ) &&
  [unit.mainPid, unit.memoryBytes, unit.since].every((number) => number === null || Number.isSafeInteger(number)) &&
  Number.isSafeInteger(unit.restarts);

function judge(name: string, value: unknown): void {
  const units = name === "list" ? (value as readonly Unit[]) : name === "read" ? [value as Unit] : [];
  for (const unit of units) expectThat(isUnit(unit), `a unit of other types from ${name}: ${String(unit.name)}`);
  const failed = name === "failed" ? (value as readonly { name: unknown; result: unknown }[]) : [];
  for (const each of failed)
    expectThat(typeof each.name === "string" && typeof each.result === "string", "a failed unit of other types");
  if (name === "restart")
    expectThat(typeof value === "string", `the result of a restart is not a string: ${typeof value}`);
}

export const target: FuzzTarget = {
  maxBytes: 8 * 1024,
  maxSteps: 3_000_000,
  dictionary: () => [
    ..."a{sv} a(ssssssouso) as v (ss) l\u0002\u0001\u0001 B\u0002\u0001\u0001 a.service __proto__".split(" "),
    ...[unitInterface, serviceInterface],
  ],
  seeds: () => seeds.map(script),
  mutate,
  async open() {
    const directory = mkdtempSync(join(tmpdir(), "bus-"));
    const path = join(directory, "bus");
    let records: readonly Buffer[] = [];
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: false }, (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      play(socket, records);
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const documented = (error: unknown): boolean => error instanceof UnitsUnavailable || error instanceof UnitRefused;
    return {
      async run(input) {
        if (refusedByBus.test(input.toString("latin1"))) return;
        records = recordsOf(input);
        const clock = createFakeClock();
        const ended = Promise.withResolvers<void>();
        const live = createLiveUnits({
          clock,
          policy: defaultServicePolicy,
          socket: path,
          onStateChange: ({ up }) => {
            if (!up) ended.resolve();
          },
        });
        const stop = new AbortController();
        const calls = {
          list: live.list(),
          failed: live.failed(),
          read: live.read("a.service"),
          ping: live.ping(),
          restart: live.restart("a.service", stop.signal),
          reset: live.resetFailed("a.service"),
        };
        const waiting = new Set(Object.keys(calls));
        const results = Promise.allSettled(
          Object.entries(calls).map(async ([name, call]) => {
            const value: unknown = await call.finally(() => waiting.delete(name));
            return [name, value] as const;
          }),
        );
        await ended.promise;
        // The connection has ended; what still waits does so for time to pass.
        for (let second = 0; second < 120 && waiting.size > 0; second += 1) {
          await clock.advance(1_000);
          if (second === 60) stop.abort();
        }
        live.dispose();
        for (const socket of sockets) socket.destroy();
        await clock.advance(60_000);
        expectThat(waiting.size === 0, `calls that never end: ${[...waiting].join(", ")}`);
        for (const result of await results) {
          if (result.status === "fulfilled") judge(...result.value);
          else if (!documented(result.reason)) throw result.reason;
        }
      },
      close() {
        server.close();
        for (const socket of sockets) socket.destroy();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  },
};
