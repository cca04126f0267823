import { fileURLToPath } from "node:url";
import { enterCommand } from "../test/host/boot.ts";
import { plainEnvironment, runCommand } from "../test/host/commands.ts";
import type { DemoDirectory } from "./directory.ts";

const checkout = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
const quotedWords = (words: readonly string[]): string => words.map(quoted).join(" ");

/** How the host of the demo is called. */
export const hostName = "web1";

/** What leads to the demo from this machine. */
export interface DemoCommands {
  /** Opens a shell inside, or runs there what follows it. Rebuilt after each boot. */
  readonly shell: string;
  /** The command line of the checkout, as a client of the demo over TLS. */
  readonly steward: string;
  /** A file for `curl -K`, with the key and the certificate. */
  readonly curl: string;
  readonly key: string;
  readonly ca: string;
}

/** Writes the command that leads inside, past the first process that the guest has now. */
export function writeShell(directory: DemoDirectory, leader: number): string {
  const environment = ["PATH", "HOME", "LC_ALL"].map((name) => `${name}=${plainEnvironment[name] ?? ""}`);
  const enter = quotedWords(enterCommand(leader, ["env", "--chdir=/root", ...environment]));
  const lines = ["#!/bin/sh", "[ $# -eq 0 ] && set -- bash -l", `exec ${enter} "TERM=\${TERM:-dumb}" "$@"`, ""];
  return directory.write("shell", lines.join("\n"), 0o700);
}

/** Writes what a client needs: key, certificate, and a command that has both. */
export async function writeClient(
  directory: DemoDirectory,
  service: { url: string; key: string; ca: string },
): Promise<Omit<DemoCommands, "shell">> {
  const key = directory.write("key", `${service.key}\n`, 0o600);
  const ca = directory.write("ca.pem", service.ca, 0o644);
  const curlLines = ["silent", "show-error", `cacert = "${ca}"`, `header = "X-API-Key: ${service.key}"`];
  const curl = directory.write("curl", `${curlLines.join("\n")}\n`, 0o600);
  const program = quotedWords([`${checkout}/bin/steward`]);
  // Of its own: contexts of anyone who runs the demo are left alone.
  const lines = [
    "#!/bin/sh",
    `export XDG_CONFIG_HOME=${quoted(`${directory.path}/settings`)}`,
    `exec ${program} "$@"`,
    "",
  ];
  const steward = directory.write("steward", lines.join("\n"), 0o700);
  await runCommand([steward, "context", "add", hostName, service.url, "--key-file", key, "--cacert", ca]);
  return { steward, curl, key, ca };
}
