import type { Command } from "commander";
import { exitCode } from "./output.ts";

/** What became of an operation in this process; `left`: another process has it, or had it. */
export type TaskOutcome = "done" | "failed" | "left";

/** `steward task run <id>`: what the service starts for a mutation that outlives it. Nobody types it, so no help lists it. */
export function addTaskCommand(
  program: Command,
  ports: {
    readonly runTask: (id: string) => Promise<TaskOutcome>;
    readonly finish: (code: number) => void;
  },
): void {
  program
    .command("task", { hidden: true })
    .command("run")
    .description("do an operation that has been written down")
    .argument("<id>", "id of the operation")
    .action(async (id: string) => {
      const outcome = await ports.runTask(id);
      ports.finish(outcome === "failed" ? exitCode.foundTrouble : exitCode.fine);
    });
}
