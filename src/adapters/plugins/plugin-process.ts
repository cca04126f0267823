import { constants } from "node:os";
import { type PluginCall, type PluginEnd, PluginNotRun, type PluginOutput } from "#domain/ports/plugins.ts";

export const maxOutputBytes = 1024 ** 2;

const seconds = (ms: number): string => (ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1000} s`);

const keptOutputChars = 4_000;

export const endedFor = (
  { manifest }: PluginCall,
  isLate: boolean,
  { stdout, stderr }: PluginOutput = { stdout: "", stderr: "" },
): PluginNotRun =>
  new PluginNotRun(
    isLate
      ? `it exceeded its time limit of ${seconds(manifest.timeoutMs)}, and was killed with all processes that it had started`
      : "it was killed with all processes that it had started: its caller is gone",
    stdout + stderr === ""
      ? {}
      : { output: { stdout: stdout.slice(-keptOutputChars), stderr: stderr.slice(-keptOutputChars) } },
  );

const signals: Readonly<Record<string, number>> = constants.signals;

/** What a shell would call the exit code of a program that a signal ended. */
export const signalExitCode = (name: string): number => 128 + (signals[name] ?? 0);

export const ended = (
  exitCode: number,
  { stdout, stderr, truncated }: { readonly stdout: string; readonly stderr: string; readonly truncated: boolean },
): PluginEnd => ({ exitCode, stdout, stderr, isTruncated: truncated });

const searchPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
export const programDirectories: readonly string[] = searchPath.split(":");

export const environmentOf = ({ manifest, path }: PluginCall, home: string): readonly string[] => [
  `PATH=${searchPath}`,
  "LANG=C.UTF-8",
  `HOME=${home}`,
  `TMPDIR=${home}`,
  `STEWARD_PLUGIN=${manifest.name}`,
  `STEWARD_PLUGIN_DIR=${path}`,
];
