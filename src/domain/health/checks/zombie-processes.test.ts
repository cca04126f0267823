import { expect, it } from "vitest";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import type { CheckSettings } from "../check.ts";
import { zombieProcessesCheck } from "./zombie-processes.ts";

const { signal } = new AbortController();
const zombies = (count: number, parentPid = 10, parentName = "worker") =>
  Array.from({ length: count }, (_, at) => ({ pid: parentPid * 1000 + at, name: "job", parentPid, parentName }));
const run = (found: ReturnType<typeof zombies>, settings: Partial<CheckSettings> = {}) =>
  zombieProcessesCheck({ facts: createFakeHostFacts({ zombies: found }) }).run({ ignore: [], ...settings }, signal);

it.each([
  [0, "pass"],
  [4, "pass"],
  [5, "warn"],
  [19, "warn"],
  [20, "fail"],
])("zombie_processes with %d zombies is %s", async (count, status) => {
  expect(await run(zombies(count))).toMatchObject({ status, details: { count } });
});

it("zombie_processes names the parents, leaves out ignored names, and lists at most a hundred", async () => {
  expect(await run([...zombies(2), ...zombies(4, 20, "pool")])).toMatchObject({
    message: "6 zombie processes, left behind by pool (20), worker (10)",
    details: {
      parents: [
        { pid: 20, name: "pool", zombies: 4 },
        { pid: 10, name: "worker", zombies: 2 },
      ],
      processes: expect.arrayContaining([{ pid: 10_001, name: "job", parent_pid: 10 }]),
    },
  });
  expect(await run([])).toMatchObject({ message: "There are no zombie processes" });
  expect(await run(zombies(1))).toMatchObject({ message: "1 zombie process, left behind by worker (10)" });
  const found = [...zombies(30), ...zombies(3, 20, "pool")];
  expect(await run(found, { ignore: ["worker"] })).toMatchObject({ status: "pass", details: { count: 3 } });
  expect(await run(found, { ignore: ["job"] })).toMatchObject({ status: "pass", details: { count: 0 } });
  expect(await run(zombies(1), { warn: 1 })).toMatchObject({ status: "warn" });
  const { details } = await run(zombies(5000));
  expect(details).toMatchObject({ count: 5000, parents: [{ zombies: 5000 }] });
  expect(details["processes"]).toHaveLength(100);
});
