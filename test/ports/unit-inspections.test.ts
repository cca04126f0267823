import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { managerInterface, unitInterface } from "#adapters/systemd/calls.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import type { Context } from "#contract/operation.ts";
import { createServiceChanges } from "#domain/system/service-change.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import { unitsThroughRoot } from "#root/through-root.ts";

interface Message {
  readonly type?: number;
  readonly serial: number;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly replySerial?: number;
  readonly sender?: string;
  readonly signature?: string;
  readonly body?: readonly unknown[];
}

/** The wire format, of which the library declares no types. */
const wire = createRequire(import.meta.url)("dbus-native/lib/message.js") as {
  readonly marshall: (message: Message) => Buffer;
  readonly unmarshalMessages: (stream: PassThrough, onMessage: (message: Message) => void, options: object) => void;
};

const unitPath = "/org/freedesktop/systemd1/unit/a_2eservice";
const systemd = ":1.5";

const properties = (isOfUnit: boolean): readonly unknown[] =>
  isOfUnit
    ? [
        ["Id", ["s", "a.service"]],
        ["LoadState", ["s", "loaded"]],
        ["ActiveState", ["s", "active"]],
        ["SubState", ["s", "running"]],
        ["CanStart", ["b", true]],
        ["CanStop", ["b", true]],
      ]
    : [["Result", ["s", "success"]]];

/** What systemd answers to each call, with its signature. */
const answers: Readonly<Record<string, (message: Message) => readonly [signature: string, ...body: unknown[]]>> = {
  Hello: () => ["s", ":1.9"],
  AddMatch: () => [""],
  GetNameOwner: () => ["s", systemd],
  Subscribe: () => [""],
  ListUnitsByPatterns: () => ["a(ssssssouso)", []],
  LoadUnit: () => ["o", unitPath],
  GetAll: ({ body = [] }) => ["a{sv}", properties(body[0] === unitInterface)],
  RestartUnit: () => ["o", "/job/1"],
};

function serveBus(socket: Socket): void {
  const messages = new PassThrough();
  let isStarted = false;
  let serial = 0;
  const send = (message: Omit<Message, "serial">): void => {
    serial += 1;
    socket.write(wire.marshall({ ...message, serial }));
  };
  wire.unmarshalMessages(
    messages,
    (message) => {
      const [signature, ...body] = answers[message.member ?? ""]?.(message) ?? [""];
      send({ type: 2, replySerial: message.serial, sender: systemd, signature, body });
      if (message.member !== "RestartUnit") return;
      const from = { path: "/org/freedesktop/systemd1", interface: managerInterface, sender: systemd };
      send({ type: 4, ...from, member: "JobRemoved", signature: "uoss", body: [1, "/job/1", "a.service", "done"] });
    },
    {},
  );
  socket.on("error", () => socket.destroy());
  socket.on("data", (data) => {
    if (isStarted) return void messages.write(data);
    if (data.includes("AUTH EXTERNAL")) socket.write(`OK ${"0123456789abcdef".repeat(2)}\r\n`);
    else if (data.includes("NEGOTIATE_UNIX_FD")) socket.write("ERROR\r\n");
    const begin = data.indexOf("BEGIN\r\n");
    if (begin < 0) return;
    isStarted = true;
    messages.write(data.subarray(begin + "BEGIN\r\n".length));
  });
}

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-bus-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

it("a restart of a service that root need not do inspects its unit twice, before and after", async () => {
  const socket = join(directory, "bus");
  const sockets = new Set<Socket>();
  const server = createServer((each) => {
    sockets.add(each);
    serveBus(each);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const called: string[] = [];
  const own = createLiveUnits({
    socket,
    clock: systemClock,
    policy: createServicePolicy(),
    onStateChange: () => undefined,
    observe(call, work) {
      called.push(call.member);
      return work();
    },
  });
  try {
    const asked: string[] = [];
    const request = (task: string): Promise<never> => {
      asked.push(task);
      return Promise.reject(new Error("root was asked"));
    };
    const change = createServiceChanges({
      units: { ...own, ...unitsThroughRoot(own, request) },
      ownUnit: "steward.service",
    });
    await own.list();
    called.length = 0;
    const { signal } = new AbortController();
    const context: Pick<Context, "signal"> = { signal: () => signal };
    const input = { params: { name: "a" }, query: {} };
    // A restart takes nothing else of the context.
    expect(await change("restart", input, context as Context)).toMatchObject({ success: true, job_result: "done" });
    const inspection = ["LoadUnit", "GetAll", "GetAll"];
    expect(called).toEqual([...inspection, "RestartUnit", ...inspection]);
    expect(asked).toEqual([]);
  } finally {
    own.dispose();
    for (const each of sockets) each.destroy();
    server.close();
  }
});
