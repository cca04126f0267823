import { type Command, Option } from "commander";
import type { Answer } from "#client/index.ts";
import { formatBytes } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import { integer } from "../core/integer.ts";
import { asPlan, printPlan } from "../core/plan.ts";
import type { CommandPorts } from "../core/ports.ts";
import { presetCommand } from "../core/preset-command.ts";
import { formatAge } from "../output/figures.ts";
import { type Io, oneLine, printJson } from "../output/output.ts";
import { withProgress } from "../output/progress.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";

type ServiceList = Answer<"listServices">;
const statuses = ["all", "active", "inactive", "failed"] as const;

function stateStyle(state: string): Style | undefined {
  if (state === "failed") return "red";
  return state === "active" ? "green" : "dim";
}

function printServices(io: Io, { services, total }: ServiceList, now: number): void {
  printTable(
    io,
    ["service", "state", "sub", "at boot", "since", "memory", "description"],
    services.map((each) => [
      each.name,
      { text: each.active_state, style: stateStyle(each.active_state) },
      each.sub_state,
      each.unit_file_state,
      each.since === null ? "" : formatAge(each.since, now),
      each.memory_bytes === null ? "" : formatBytes(each.memory_bytes),
      each.description,
    ]),
  );
  io.out(
    services.length < total ? `${services.length} of ${total} services (--limit shows more)\n` : `${total} services\n`,
  );
}

/** `steward services [list]|restart`. */
export function addServicesCommands(program: Command, ports: CommandPorts): void {
  const { io, now, connect } = ports;
  const services = program.command("services").description("services of the host: list and restart them");
  const list = presetCommand(services, "list")
    .description("list services")
    .addOption(new Option("-s, --status <state>", "only those in this state").choices(statuses).default("all"))
    .addOption(new Option("-n, --limit <count>", "at most so many").argParser(integer(1, 1000)).default(1000));
  answerCommand(ports, list, {
    ask: (client, { status, limit }: { status: (typeof statuses)[number]; limit: number }) =>
      client.listServices({ query: { status, limit } }),
    print: (_, answer) => printServices(io, answer, now()),
  });
  services
    .command("restart")
    .description("restart a service, and wait until it is done")
    .argument("<name>", "unit name; nginx means nginx.service")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("--json", "print the answer as JSON")
    .action(async (name: string, options: { dryRun?: boolean; json?: boolean }, command: Command) => {
      const { client } = await connect(command);
      const call = { params: { name }, query: { dry_run: options.dryRun ?? false } };
      const answer = await withProgress(io, `restarting ${name}`, () => client.restartService(call));
      if (options.json) return printJson(io, answer);
      if (options.dryRun) return printPlan(io, asPlan(answer));
      const state = answer.active ? `, it is ${answer.active_state} (${answer.sub_state})` : "";
      io.out(`${oneLine(`${answer.message}${state}`)}\n`);
    });
}
