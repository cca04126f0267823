import { expect, it } from "vitest";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import { fromWire, toWire } from "./errors.ts";

const onRootsSide = [
  Object.assign(new Error("ENOSPC: no space left on device, write"), {
    code: "ENOSPC",
    path: "/var/lib/steward-tasks/x",
  }),
  new Error("cannot do it", { cause: Object.assign(new Error("EROFS"), { code: "EROFS" }) }),
  new UnitsUnavailable("the system bus does not answer", true),
  new UnitsUnavailable("systemd is not running on this host", false),
];

it.each(onRootsSide)("what the host lacks on root's side is the same on this one: %s", (error) => {
  const before = findUnavailable(error) ?? expect.fail();
  const wire: unknown = JSON.parse(JSON.stringify(toWire(error)));
  const after = findUnavailable(new Error("cannot ask", { cause: fromWire(wire as ReturnType<typeof toWire>) }));
  expect(after).toMatchObject({ message: before.message, details: before.details });
});

it("other errors keep their message alone", () => {
  expect(findUnavailable(fromWire(toWire(new Error("broken"))))).toBeUndefined();
});
