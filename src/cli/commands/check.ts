import { InvalidArgumentError } from "commander";
import type { Answer, Client } from "#client/index.ts";
import { isUnhealthy } from "#contract/checks.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode, type Io, oneLine, printJson } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";
import { nagiosReport } from "./nagios.ts";

type Result = Answer<"getCheck">;

/** Longer than a check may take unless its settings say otherwise. */
const defaultTimeoutSeconds = 60;
const longestTimeoutSeconds = 24 * 60 * 60;
/** What fits the message column of the table. */
const maxTableChars = 100;

function seconds(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= longestTimeoutSeconds) return value;
  throw new InvalidArgumentError(`it must be a number of seconds up to ${longestTimeoutSeconds}`);
}

const shortened = (text: string): string =>
  text.length > maxTableChars ? `${text.slice(0, maxTableChars - 1)}…` : text;

const styles: Readonly<Record<Result["status"], Style>> = { pass: "green", warn: "yellow", fail: "red", skip: "dim" };

function printChecks(io: Io, { summary, results }: Answer<"listChecks">): void {
  printTable(io, results, {
    check: ({ check_id: id }) => id,
    status: ({ status }) => ({ text: status, style: styles[status] }),
    since: ({ since }) => since,
    message: ({ message }) => shortened(oneLine(message)),
  });
  const { total, passed, warned, failed, skipped } = summary;
  io.out(`${total} checks: ${passed} pass, ${warned} warn, ${failed} fail, ${skipped} skip\n`);
}

/** `steward check`: runs a check, or lists all; also as a plugin of a monitoring system. */
export function addCheckCommand(program: Command, { io, connect, finish }: CommandPorts): void {
  const checkOne = async (service: Client, id: string, options: { nagios?: boolean; json?: boolean }) => {
    const result = await service.getCheck({ params: { check_id: id } });
    if (options.nagios) {
      const { line, code } = nagiosReport(result);
      finish(code);
      return io.out(`${line}\n`);
    }
    finish(isUnhealthy(result) ? exitCode.foundTrouble : exitCode.fine);
    if (options.json) return printJson(io, result);
    io.out(`${oneLine(`${result.check_id} ${result.status}: ${result.message}`)}\n`);
  };

  const checkAll = async (service: Client, options: { json?: boolean }) => {
    const answer = await service.listChecks();
    finish(answer.results.some(isUnhealthy) ? exitCode.foundTrouble : exitCode.fine);
    if (options.json) return printJson(io, answer);
    printChecks(io, answer);
  };

  program
    .command("check")
    .description("run a health check; without an id, list all")
    .argument("[id]", "id of the check, such as disk_space")
    .option("--nagios", "answer as a plugin of Nagios, Icinga and their kin does")
    .json()
    .option("--timeout <seconds>", "how long to wait for the answer", seconds, defaultTimeoutSeconds)
    .notes(`Exit code: 0 all well or skipped, 1 something warns or fails, 2 the service could not be asked.
With --nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (skipped, or anything that went wrong), and one line

  DISK_SPACE OK - / is 17 % full | percent_used=17.2%`)
    .action(
      async (
        id: string | undefined,
        options: { nagios?: boolean; json?: boolean; timeout: number },
        command: Command,
      ) => {
        if (options.nagios && options.json) command.error("error: --nagios and --json do not go together");
        if (options.nagios && id === undefined) command.error("error: --nagios needs the id of a check");
        const { client: service } = await connect(command, {
          signal: AbortSignal.timeout(Math.ceil(options.timeout * 1000)),
        });
        return id === undefined ? checkAll(service, options) : checkOne(service, id, options);
      },
    );
}
