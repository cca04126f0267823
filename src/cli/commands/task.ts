import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode } from "../output/output.ts";

type TaskPorts = Pick<CommandPorts, "finish"> & {
  readonly local: Pick<CommandPorts["local"], "runTask">;
};

/** Hidden commands that units run: `steward task run <id>` for an operation that outlives the service. */
export function addTaskCommand(program: Command, { local, finish }: TaskPorts): void {
  const task = program.command("task", { hidden: true });
  task
    .command("run")
    .description("do an operation that has been written down")
    .argument("<id>", "id of the operation")
    .option("--asked-by <user>", "do it as root for this user's service, or answer what that asks")
    .action(async (id: string, { askedBy }: { readonly askedBy?: string }) => {
      const outcome = await local.runTask(id, askedBy);
      // An operation that has failed says so itself; for the unit in which root does it, the task was done.
      finish(outcome === "failed" && askedBy === undefined ? exitCode.foundTrouble : exitCode.fine);
    });
}
