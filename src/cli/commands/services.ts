import type { Plan } from "#contract/operation.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { type AddCommand, changingCommand, commandGroup, listCommand } from "../core/operation-command.ts";
import { limitWord, type Word } from "../core/operation-words.ts";
import { oneLine } from "../output/output.ts";
import { stateStyle } from "../output/screen.ts";
import { formatAge } from "../output/text.ts";
import { addServiceStatusCommand, serviceName } from "./service-status.ts";

const listServices = listCommand("listServices", "list", {
  about: "list services",
  words: {
    status: { as: "-s, --status <state>", about: "only those in this state", default: "all" },
    limit: limitWord(1000),
  },
  rows: "services",
  columns: (_, { now }) => ({
    service: "name",
    state: ({ active_state: text }) => ({ text, style: stateStyle(text) }),
    sub: "sub_state",
    "at boot": "unit_file_state",
    since: ({ since }) => (since === null ? "" : formatAge(since, now)),
    memory: ({ memory_bytes: bytes }) => (bytes === null ? "" : formatBytes(bytes)),
    description: "description",
  }),
  counts: "service",
  more: "--limit",
});

const confirm: Word = {
  as: "--confirm",
  about: "yes, also of the system bus and systemd-logind, with which programs and sessions end",
};

/** Stopping a service that others require stops them, too: that is asked about. */
const stopsOthers = ({ units }: Plan): string | undefined =>
  units.length > 1 ? `Stop ${counted(units.length, "unit")}?` : undefined;

const stateCommand = (
  operation: "restartService" | "startService" | "stopService" | "reloadService",
  doing: string,
  about: string,
): AddCommand =>
  changingCommand(operation, operation.replace("Service", ""), {
    about,
    words: { name: serviceName, confirm },
    progress: ({ name }) => `${doing} ${name}`,
    ...(operation === "stopService" && { question: stopsOthers }),
    print(io, { message, active, job_result: job, active_state: state, sub_state: sub }) {
      // Without a job it was in that state before, and the message says so.
      io.out(`${oneLine(`${message}${active && job !== "" ? `, it is ${state} (${sub})` : ""}`)}\n`);
    },
  });

/** What a reboot does not undo cannot be confirmed. */
const fileCommand = (
  operation: "enableService" | "disableService" | "maskService" | "unmaskService",
  about: string,
  words: { readonly name: Word; readonly confirm?: Word },
): AddCommand =>
  changingCommand(operation, operation.replace("Service", ""), {
    about,
    words,
    print(io, { message, changes }) {
      io.out(`${oneLine(message)}\n`);
      for (const { type, path, target } of changes)
        io.out(`  ${oneLine(`${type} ${path}${target === "" ? "" : ` → ${target}`}`)}\n`);
    },
  });

const toConfirm = { name: serviceName, confirm };
const named = { name: serviceName };

export const addServicesCommands = commandGroup(
  { name: "services", about: "services of the host: list, control, enable and mask them", preset: "list" },
  [
    listServices,
    addServiceStatusCommand,
    stateCommand("restartService", "restarting", "restart a service, and wait until it is done"),
    stateCommand("startService", "starting", "start a service, and wait until it is done"),
    stateCommand("stopService", "stopping", "stop a service, and wait until it is done"),
    stateCommand("reloadService", "reloading", "reload the settings of a service"),
    fileCommand("enableService", "have a service start at boot, without starting it now", toConfirm),
    fileCommand("disableService", "have a service not start at boot, without stopping it now", named),
    fileCommand("maskService", "mask a service, so that nothing can start it", named),
    fileCommand("unmaskService", "unmask a service, so that it can be started again", toConfirm),
  ],
);
