import { expect, it } from "vitest";
import { createTimers } from "./timers.ts";

type Asked = Parameters<typeof createTimers>[0];

it("timers that are unloaded between the list and the question hide no other", async () => {
  const rows = ["gone.timer", "kept.timer"].map((name) => [
    name,
    "",
    "loaded",
    "active",
    "waiting",
    "",
    `/unit/${name}`,
  ]);
  const properties: Readonly<Record<string, object>> = {
    // As systemd answers for a unit that it does not know.
    "/unit/gone.timer": { Unit: "", LastTriggerUSec: 0n },
    "/unit/kept.timer": { Unit: "kept.service", LastTriggerUSec: 0n },
    "/unit/kept.service": { ActiveState: "inactive" },
  };
  const answerTo = (member: string, path: string, [name]: readonly unknown[]): unknown => {
    if (member === "ListUnitsByPatterns") return rows;
    if (member === "LoadUnit") {
      if (name === "") throw new Error("Invalid unit name");
      return `/unit/${String(name)}`;
    }
    return member === "GetAll" ? properties[path] : "success";
  };
  const call: Asked["call"] = ({ member, path, body = [] }, read) =>
    new Promise((resolve) => resolve(read([answerTo(member, path, body)])));
  const timers = createTimers({ call, untilReady: () => Promise.resolve() });
  expect((await timers.list())?.map(({ name, unit }) => [name, unit])).toEqual([["kept.timer", "kept.service"]]);
});
