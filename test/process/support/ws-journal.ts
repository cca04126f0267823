import { readFileSync } from "node:fs";
import { encodeEntry } from "../../journals/export-format.ts";
import { appendToJournal } from "../../journals/programs.ts";

const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim().replaceAll("-", "");

export interface LogText {
  readonly message: string;
  readonly unit: string;
  readonly priority: number;
}

/** Writes entries into a journal file as a unit of this boot does, now. */
export function writeLog(file: string, texts: readonly LogText[]): void {
  const entries = texts.map(({ message, unit, priority }, at) =>
    encodeEntry({
      realtime: Date.now() * 1000 + at,
      monotonic: Number(process.hrtime.bigint() / 1000n) + at,
      bootId,
      fields: [
        ["MESSAGE", message],
        ["PRIORITY", String(priority)],
        ["_SYSTEMD_UNIT", unit],
        ["_HOSTNAME", "testhost"],
        ["SYSLOG_IDENTIFIER", "test"],
      ],
    }),
  );
  appendToJournal(file, { compact: true, keyedHash: true, compress: true }, entries);
}
