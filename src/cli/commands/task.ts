import type { Command } from "commander";
import type { TaskOutcome } from "../core/local.ts";
import { exitCode } from "../output/output.ts";

/** What nobody types, so no help lists it: `steward task run <id>`, what is started for a mutation that outlives the service. */
export function addTaskCommand(
  program: Command,
  ports: {
    readonly runTask: (id: string, askedBy?: string) => Promise<TaskOutcome>;
    readonly carryState: () => Promise<void>;
    readonly finish: (code: number) => void;
  },
): void {
  const task = program.command("task", { hidden: true });
  task
    .command("run")
    .description("do an operation that has been written down")
    .argument("<id>", "id of the operation")
    .option("--asked-by <user>", "do it as root for this user's service, or answer what that asks")
    .action(async (id: string, { askedBy }: { readonly askedBy?: string }) => {
      const outcome = await ports.runTask(id, askedBy);
      // An operation that has failed tells so itself; for the unit that root does it in, its task was done.
      ports.finish(outcome === "failed" && askedBy === undefined ? exitCode.foundTrouble : exitCode.fine);
    });
  task
    .command("carry")
    .description("take the state of the service to the next boot, where a rollback waits for it")
    .action(async () => {
      await ports.carryState();
      ports.finish(exitCode.fine);
    });
}
