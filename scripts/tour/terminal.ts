import { spawn } from "node:child_process";
import { once } from "node:events";

/** What a program wrote at a moment, counted from its start. */
export interface Chunk {
  readonly atMs: number;
  readonly text: string;
}

/** A program that ran on a terminal of its own. */
export interface Recording {
  readonly chunks: readonly Chunk[];
  readonly exitCode: number;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
const timeoutMs = 120_000;

/**
 * Runs a program on a pseudo-terminal of this size, as script(1) of util-linux makes one, and keeps what it writes.
 * @throws Error when it does not end in time.
 */
export async function record(argv: readonly string[], { columns, rows }: TerminalSize): Promise<Recording> {
  const command = `stty rows ${rows} cols ${columns}; exec ${argv.map(quoted).join(" ")}`;
  const script = ["--quiet", "--flush", "--return", "--echo", "never", "--command", command, "/dev/null"];
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: "/root",
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
    LC_ALL: "C.UTF-8",
  };
  // Its input stays open: the end of it would be one for the program too.
  const child = spawn("script", script, { env, stdio: ["pipe", "pipe", "inherit"], timeout: timeoutMs });
  const decoder = new TextDecoder();
  const chunks: Chunk[] = [];
  const startedAt = performance.now();
  child.stdout.on("data", (bytes: Buffer) => {
    chunks.push({ atMs: performance.now() - startedAt, text: decoder.decode(bytes, { stream: true }) });
  });
  await once(child, "close");
  const { exitCode, signalCode } = child;
  if (exitCode === null) throw new Error(`cannot record ${argv.join(" ")}: it was ended by ${signalCode ?? "nobody"}`);
  return { chunks, exitCode };
}
