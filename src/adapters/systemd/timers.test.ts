import { expect, it } from "vitest";
import { createTimers } from "./timers.ts";

type Session = Parameters<typeof createTimers>[0];

it("timers that are unloaded between the list and the question hide no other", async () => {
  const rows = ["gone.timer", "kept.timer"].map((name) => [name, "", "loaded", "active", "waiting", "", `/unit/${name}`]);
  const properties: Readonly<Record<string, object>> = {
    // As systemd answers for a unit that it does not know.
    "/unit/gone.timer": { Unit: "", LastTriggerUSec: 0n },
    "/unit/kept.timer": { Unit: "kept.service", LastTriggerUSec: 0n },
    "/unit/kept.service": { ActiveState: "inactive" },
  };
  const call: Session["call"] = async ({ member, path, body = [] }, read) => {
    if (member === "ListUnitsByPatterns") return read([rows]);
    if (member === "LoadUnit") {
      if (body[0] === "") throw new Error("Invalid unit name");
      return read([`/unit/${String(body[0])}`]);
    }
    return read([member === "GetAll" ? properties[path] : "success"]);
  };
  const timers = createTimers({ call, untilReady: async () => undefined } as unknown as Session);
  expect((await timers.list())?.map(({ name, unit }) => [name, unit])).toEqual([["kept.timer", "kept.service"]]);
});
