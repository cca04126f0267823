import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { encodeEntry } from "../test/journals/export-format.ts";
import { journalRemote, journalRemoteCall } from "../test/journals/programs.ts";
import { textOfLine } from "./stream-lines.ts";
import type { Workspace } from "./workspace.ts";

/** Where the lines of one side come from: each call gives it so many, from a number on, of so many characters. */
export type LineSource = (from: number, count: number, length: number) => void;

function inputOf({ input }: { readonly input: Writable | undefined }): Writable {
  if (input === undefined) throw new Error("cannot feed a process that was started without an input");
  return input;
}

const unit = "steward-bench.service";

/** A journal in this directory, of this boot, that grows by what it is given. */
export function startJournal(workspace: Workspace, dir: string): LineSource {
  const call = journalRemoteCall(join(dir, "system.journal"), { compact: true, keyedHash: true, compress: true });
  const input = inputOf(workspace.start([journalRemote, ...call.argv], call.env, { input: true }));
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().replaceAll("-", "");
  return (from, count, length) => {
    const entries = Array.from({ length: count }, (_, at) =>
      encodeEntry({
        realtime: Math.floor((performance.timeOrigin + performance.now()) * 1000),
        monotonic: Number(process.hrtime.bigint() / 1000n),
        bootId,
        fields: [
          ["_TRANSPORT", "stdout"],
          ["_SYSTEMD_UNIT", unit],
          ["SYSLOG_IDENTIFIER", "steward-bench"],
          ["_PID", "4711"],
          ["_HOSTNAME", "bench"],
          ["PRIORITY", "6"],
          ["MESSAGE", textOfLine(from + at, length)],
        ],
      }),
    );
    input.write(Buffer.concat(entries));
  };
}

/** Frames of the same bytes as ours, given as lines to a program that sends them as they are. */
export function frameLines(running: { readonly input: Writable | undefined }, sample: () => string): LineSource {
  const input = inputOf(running);
  return (from, count, length) => {
    const entry = JSON.parse(sample()) as Readonly<Record<string, unknown>>;
    const lines = Array.from(
      { length: count },
      (_, at) => `${JSON.stringify({ ...entry, message: textOfLine(from + at, length) })}\n`,
    );
    input.write(lines.join(""));
  };
}
