import { writeFileSync } from "node:fs";
import type { Environment } from "#config/defaults.ts";
import { createLineWriter } from "#telemetry/line-writer.ts";
import { createLogs } from "#telemetry/logger.ts";
import { forPeople, isJournal, noticeMark, withPriorities } from "#telemetry/outputs.ts";

/** As `ps`, `top` and the check of the firewall show it: Node calls its first thread MainThread. */
export function setProcessName(): void {
  try {
    writeFileSync("/proc/self/comm", "steward");
  } catch {
    // Where there is no such file, nobody reads the name from it either.
  }
}

/** Log lines to standard output: for people where that is a terminal, else JSON for programs that keep a log. */
export function openLogs(environment: Environment) {
  const writer = createLineWriter(process.stdout.fd);
  // Whatever ends the process, its last lines are out first.
  process.on("exit", writer.flush);
  const toJournal = isJournal(process.stdout.fd, environment);
  const logWriter = toJournal ? withPriorities(writer) : process.stdout.isTTY ? forPeople(writer) : writer;
  return {
    logsOf: (level: Parameters<typeof createLogs>[0]["level"]) => createLogs({ level, writer: logWriter }),
    /** Writes a line as a notice before it returns. @throws Error when nobody takes it. */
    writeNotice: (line: string) => writer.writeNow(`${toJournal ? noticeMark : ""}${line}`),
  };
}

const starterCheckMs = 500;

/** npm passes on only SIGINT and SIGTERM, and without a terminal the service would keep its port. */
export function endWithStarter(environment: NodeJS.ProcessEnv = process.env): void {
  const starter = environment["STEWARD_STARTED_BY"];
  delete environment["STEWARD_STARTED_BY"];
  if (starter === undefined) return;
  const timer = setInterval(() => {
    if (String(process.ppid) === starter) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, starterCheckMs);
  timer.unref();
}
