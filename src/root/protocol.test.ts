import fc from "fast-check";
import { expect, it } from "vitest";
import { DomainError } from "#domain/common/error.ts";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { PackageFileMissing, PackagesLocked, UpdateRefused } from "#domain/ports/packages.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import { encodeMessage, fromWire, readMessages, toWire } from "./protocol.ts";

async function* arriving(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const end = Math.min(bytes.length, cut);
    yield await Promise.resolve(bytes.subarray(start, end));
    start = end;
  }
  yield bytes.subarray(start);
}
async function readAll(bytes: Uint8Array, maxBytes: number, cuts: readonly number[]): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of readMessages(arriving(bytes, cuts), maxBytes)) messages.push(message);
  return messages;
}
const read = (text: string, maxBytes = 1000, cuts: readonly number[] = []) =>
  readAll(Buffer.from(text), maxBytes, cuts);

it("the protocol of the privileged side reads the same messages, wherever what arrives is cut", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), fc.array(fc.nat(2000)), async (messages, cuts) => {
      const text = messages.map(encodeMessage).join("");
      expect(await read(text, 1_000_000, cuts)).toEqual(JSON.parse(JSON.stringify(messages)));
    }),
  ));

it("the protocol of the privileged side reads complete lines of JSON, or fails with a reason", () =>
  fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(100), async (bytes, maxBytes) => {
      const error = await readAll(bytes, maxBytes, []).then(
        () => undefined,
        (reason: unknown) => String(reason),
      );
      expect(error ?? "message longer").toMatch(/message longer|expected a line of JSON|closed in the middle/);
    }),
  ));

it.each([
  ["is not JSON", "{\n", /expected a line of JSON/],
  ["was cut off", '{"a":', /closed in the middle/],
  ["is too long", `"${"x".repeat(1000)}"\n`, /longer than 1000 bytes/],
  ["never ends", "x".repeat(1001), /longer than 1000 bytes/],
])("the protocol of the privileged side refuses a message that %s", async (_, text, why) => {
  await expect(read(text)).rejects.toThrow(why);
});

it("the protocol of the privileged side yields each message before the next has arrived", async () => {
  const messages = readMessages(arriving(Buffer.from("1\n2\nx"), [2, 4]), 10);
  expect([await messages.next(), await messages.next()]).toMatchObject([{ value: 1 }, { value: 2 }]);
  await expect(messages.next()).rejects.toThrow(/closed in the middle/);
});

const onRootsSide = [
  Object.assign(new Error("ENOSPC: no space left on device, write"), {
    code: "ENOSPC",
    path: "/var/lib/steward-tasks/x",
  }),
  new Error("cannot do it", { cause: Object.assign(new Error("EROFS"), { code: "EROFS" }) }),
  new UnitsUnavailable("the system bus does not answer", true),
  new UnitsUnavailable("systemd is not running on this host", false),
];

it.each(onRootsSide)("an unavailable host is the same over the wire: %s", (error) => {
  const before = findUnavailable(error) ?? expect.fail();
  const wire: unknown = JSON.parse(JSON.stringify(toWire(error)));
  const after = findUnavailable(new Error("cannot request", { cause: fromWire(wire as ReturnType<typeof toWire>) }));
  expect(after).toMatchObject({ message: before.message, details: before.details });
});

it("an unexpected error or unknown class over the wire is an Error with its message", () => {
  expect(findUnavailable(fromWire(toWire(new Error("broken"))))).toBeUndefined();
  for (const kind of ["constructor", "DomainError", "New"]) {
    const back = fromWire({ kind, message: "m", details: { code: "NO_SUCH" } });
    expect([back.constructor, back.message]).toEqual([Error, "m"]);
  }
});

it.each([
  new DomainError("NOT_FOUND", "cannot find it", { id: "x" }),
  new PackagesLocked("dpkg runs", { pid: 7, program: "dpkg" }),
  new PackagesLocked("somebody runs"),
  new UpdateRefused("held"),
  new SnapshotUnusable("damaged"),
  new PackageFileMissing("nowhere"),
  new PluginNotRun("gone"),
  new PluginNotRun("late", { output: { stdout: "begun", stderr: "" } }),
  new Error("anything"),
])("an error keeps its class and details over the wire: %s", (error) => {
  const back = fromWire(toWire(error));
  expect([back.constructor, back.message]).toEqual([error.constructor, error.message]);
  if (error instanceof DomainError) expect(back).toMatchObject({ code: error.code, details: error.details });
  if (error instanceof PackagesLocked) expect(back).toMatchObject({ holder: error.holder });
  if (error instanceof PluginNotRun) expect(back).toMatchObject({ output: error.output });
});
