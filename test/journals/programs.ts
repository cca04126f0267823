import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Writes journals from the export format. Debian: systemd-journal-remote. */
export const journalRemote = "/lib/systemd/systemd-journal-remote";
const journalctl = "/usr/bin/journalctl";
const needed = [
  { program: journalRemote, package: "systemd-journal-remote" },
  { program: journalctl, package: "systemd" },
];

/** The kinds of journal file that the writer can be asked to make. */
export interface FileKind {
  /** Offsets of 32 bits, files below 4 GiB. */
  readonly compact: boolean;
  /** SipHash keyed with the file's id; otherwise Jenkins' lookup3. */
  readonly keyedHash: boolean;
  /** zstd for values of 512 bytes and more. */
  readonly compress: boolean;
}

/**
 * Why journals cannot be made on this machine; undefined where they can.
 * @throws Error in CI (`CI=true`), where a skipped test would go unnoticed.
 */
export function whyNoJournals(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const missing = needed.filter(({ program }) => !existsSync(program));
  if (missing.length === 0) return undefined;
  const reason = `apt-get install ${missing.map((each) => each.package).join(" ")}`;
  if (env["CI"] === "true") throw new Error(`cannot make journals, and in CI nothing is skipped: ${reason}`);
  return reason;
}

/** Prints why journals cannot be made here, if so, and says whether they can. */
export function canMakeJournals(): boolean {
  const reason = whyNoJournals();
  if (reason !== undefined) process.stderr.write(`skipped: tests on real journals (${reason})\n`);
  return reason === undefined;
}

/** How to start the writer: what it reads from its input goes to the end of the file, which it makes where needed. */
export function journalRemoteCall(
  file: string,
  kind: FileKind,
): { readonly argv: readonly string[]; readonly env: Record<string, string> } {
  return {
    argv: ["--split-mode=none", `--compress=${kind.compress ? "yes" : "no"}`, "-o", file, "-"],
    env: {
      LC_ALL: "C.UTF-8",
      SYSTEMD_JOURNAL_COMPACT: kind.compact ? "1" : "0",
      SYSTEMD_JOURNAL_KEYED_HASH: kind.keyedHash ? "1" : "0",
    },
  };
}

/**
 * Appends entries in the export format to a journal file.
 * @throws Error when the writer does not take them.
 */
export function appendToJournal(file: string, kind: FileKind, entries: readonly Buffer[]): void {
  const { argv, env } = journalRemoteCall(file, kind);
  const { status, stderr, error } = spawnSync(journalRemote, argv, { env, input: Buffer.concat(entries) });
  if (error !== undefined) throw error;
  const written = `after writing ${entries.length} entries`;
  if (status !== 0 || !stderr.toString().includes(written)) {
    throw new Error(`cannot write ${file}: exit ${status}, ${stderr.toString().slice(0, 500)}`);
  }
}

export interface Finished {
  /** Null when it was ended because it took too long. */
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs journalctl; a damaged file can make it run for ever, so its time is bounded. */
export function runJournalctl(args: readonly string[], { timeoutMs = 60_000 } = {}): Finished {
  const { status, stdout, stderr } = spawnSync(journalctl, args, {
    env: { LC_ALL: "C.UTF-8", TZ: "UTC", SYSTEMD_COLORS: "0", SYSTEMD_PAGER: "cat" },
    maxBuffer: 1 << 30,
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  return { status, stdout, stderr: stderr.toString() };
}
