import type { Answer } from "#client/index.ts";
import type { Plan } from "#contract/operation.ts";
import { system } from "#contract/system.ts";
import { counted, countedOf, formatBytes } from "#kernel/text.ts";
import { answerCommand, changeCommand } from "../core/answer-command.ts";
import { type Command, namedArgument } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printNotShown } from "../output/print.ts";
import { withProgress } from "../output/progress.ts";
import { stateStyle } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { formatAge } from "../output/text.ts";
import { addServiceStatusCommand } from "./service-status.ts";

type ServiceList = Answer<"listServices">;
const statuses = ["all", "active", "inactive", "failed"] as const;

function printServices(io: Io, { services, total, not_shown: missing }: ServiceList, now: number): void {
  printTable(io, services, {
    service: ({ name }) => name,
    state: ({ active_state: text }) => ({ text, style: stateStyle(text) }),
    sub: ({ sub_state: sub }) => sub,
    "at boot": ({ unit_file_state: state }) => state,
    since: ({ since }) => (since === null ? "" : formatAge(since, now)),
    memory: ({ memory_bytes: bytes }) => (bytes === null ? "" : formatBytes(bytes)),
    description: ({ description }) => description,
  });
  io.out(`${countedOf(services.length, total, "service")}${services.length < total ? " (--limit shows more)" : ""}\n`);
  printNotShown(io.out, missing);
}

export function addServicesCommands(program: Command, ports: CommandPorts): void {
  const { io, now } = ports;
  const services = program.command("services").description("services of the host: list, control, enable and mask them");
  const list = services
    .presetCommand("list")
    .description("list services")
    .choice("-s, --status <state>", "only those in this state", statuses, "all")
    .limit({ minimum: 1, maximum: 1000, default: 1000 });
  answerCommand(ports, list, {
    ask: (client, { status, limit }: { status: (typeof statuses)[number]; limit: number }) =>
      client.listServices({ query: { status, limit } }),
    print: (_, answer) => printServices(io, answer, now()),
  });
  addServiceStatusCommand(services, ports);
  for (const verb of ["restart", "start", "stop", "reload"] as const) addChangeCommand(services, verb, ports);
  for (const verb of ["enable", "disable", "mask", "unmask"] as const) addFileCommand(services, verb, ports);
}

const described = {
  restart: { name: "restartService", doing: "restarting", description: "restart a service, and wait until it is done" },
  start: { name: "startService", doing: "starting", description: "start a service, and wait until it is done" },
  stop: { name: "stopService", doing: "stopping", description: "stop a service, and wait until it is done" },
  reload: { name: "reloadService", doing: "reloading", description: "reload the settings of a service" },
} as const;

const describedFile = {
  enable: { name: "enableService", description: "have a service start at boot, without starting it now" },
  disable: { name: "disableService", description: "have a service not start at boot, without stopping it now" },
  mask: { name: "maskService", description: "mask a service, so that nothing can start it" },
  unmask: { name: "unmaskService", description: "unmask a service, so that it can be started again" },
} as const;

type FileOperation = (typeof describedFile)[keyof typeof describedFile]["name"];
/** What a reboot does not undo cannot be confirmed. */
const isConfirmable = (operation: FileOperation): operation is "enableService" | "unmaskService" =>
  "body" in system[operation];

/** Stopping a service that others require stops them, too: that is asked about. */
const stopsOthers = ({ units }: Plan, _name: string, _options: object): string | undefined =>
  units.length > 1 ? `Stop ${counted(units.length, "unit")}?` : undefined;

const addCommand = (services: Command, verb: string, description: string): Command =>
  services
    .command(verb)
    .description(description)
    .addArgument(namedArgument("<name>", "unit name; nginx means nginx.service", "service"));

const confirmOption = [
  "--confirm",
  "yes, also of the system bus and systemd-logind, with which programs and sessions end",
] as const;

function addChangeCommand(services: Command, verb: keyof typeof described, ports: CommandPorts): void {
  const { name: operation, doing, description } = described[verb];
  changeCommand(ports, addCommand(services, verb, description).option(...confirmOption), {
    ...(verb === "stop" && { question: stopsOthers }),
    change: (client, query, name: string, { confirm = false }: { confirm?: boolean }) =>
      withProgress(ports.io, `${doing} ${name}`, () =>
        client[operation]({ params: { name }, query, body: { confirm } }),
      ),
    print(io, answer) {
      // Without a job it was in that state before, and the message says so.
      const state =
        answer.active && answer.job_result !== "" ? `, it is ${answer.active_state} (${answer.sub_state})` : "";
      io.out(`${oneLine(`${answer.message}${state}`)}\n`);
    },
  });
}

function addFileCommand(services: Command, verb: keyof typeof describedFile, ports: CommandPorts): void {
  const { name: operation, description } = describedFile[verb];
  const command = addCommand(services, verb, description);
  changeCommand(ports, isConfirmable(operation) ? command.option(...confirmOption) : command, {
    change: (client, query, name: string, { confirm = false }: { confirm?: boolean }) =>
      isConfirmable(operation)
        ? client[operation]({ params: { name }, query, body: { confirm } })
        : client[operation]({ params: { name }, query }),
    print(io, { message, changes }) {
      io.out(`${oneLine(message)}\n`);
      for (const { type, path, target } of changes)
        io.out(`  ${oneLine(`${type} ${path}${target === "" ? "" : ` → ${target}`}`)}\n`);
    },
  });
}
