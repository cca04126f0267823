import { expect, it } from "vitest";
import { Command } from "../core/command.ts";
import type { TaskOutcome } from "../core/ports.ts";
import { addTaskCommand } from "./service.ts";

const runWith = async (outcome: TaskOutcome, argv: readonly string[]) => {
  const ids: string[] = [];
  let code: number | undefined;
  const program = new Command("steward").exitOverride().configureOutput({ writeErr: () => undefined });
  addTaskCommand(program, {
    local: {
      runTask(id, askedBy) {
        ids.push(askedBy === undefined ? id : `${askedBy}: ${id}`);
        return Promise.resolve(outcome);
      },
    },
    finish(each) {
      code = each;
    },
  });
  await program.parseAsync([...argv], { from: "user" });
  return { ids, code, help: program.helpInformation() };
};

it("reports an operation that has failed where it was asked for, not in the unit that root does it in", async () => {
  const { ids, code } = await runWith("failed", ["task", "run", "--asked-by", "steward", "--", "20260101-1"]);
  expect([ids, code]).toEqual([["steward: 20260101-1"], 0]);
});

it.each([
  ["done", 0],
  ["failed", 1],
  ["left", 0],
] as const)("an operation that is %s ends with %i, and no help reports it", async (outcome, expected) => {
  const { ids, code, help } = await runWith(outcome, ["task", "run", "20260101-1"]);
  expect([ids, code]).toEqual([["20260101-1"], expected]);
  expect(help).not.toContain("task");
});

it("needs an id", async () => {
  await expect(runWith("done", ["task", "run"])).rejects.toThrow(/missing required argument/);
});
