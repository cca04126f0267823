import { expect, it } from "vitest";
import { createTaskDoor } from "./launcher.ts";

const id = "20260131-235959-999-1f2e3d4c";

function door(...results: readonly string[]) {
  const left = [...results];
  const started: string[] = [];
  const launcher = createTaskDoor({
    start(unit) {
      started.push(unit);
      return Promise.resolve(left.shift() ?? "done");
    },
  });
  return { launcher, started };
}

it("starts a task again that was killed while it was asked for", async () => {
  const { launcher, started } = door("failed", "done");
  await launcher.launch(id);
  expect(started).toEqual([`steward-task@${id}.service`, `steward-task@${id}.service`]);
});

it("says when a task cannot be started", async () => {
  const { launcher, started } = door("failed", "failed");
  await expect(launcher.launch(id)).rejects.toThrow(/ended with: failed/);
  expect(started).toHaveLength(2);
  await expect(launcher.launch("../other")).rejects.toThrow(/cannot start a task/);
});
