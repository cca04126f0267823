import { stat } from "node:fs/promises";
import { geteuid } from "node:process";
import type { Exec } from "#adapters/exec/index.ts";
import type { SshConfig, SshServer } from "#domain/ports/network.ts";
import { errorMessage, orUndefined } from "#kernel/errors.ts";
import { type MatchBlock, matchesFor, otherPort, readMatchBlocks } from "./matches.ts";

const program = "/usr/sbin/sshd";
const settingsFiles = ["/etc/ssh/sshd_config", "/usr/etc/ssh/sshd_config"];
const timeoutMs = 10_000;

/** @returns options by names in lower case, which OpenSSH 10.6 no longer prints. */
export function parseSshdOptions(text: string): Readonly<Record<string, string>> {
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^([a-z0-9]+)(?:\s+(.*))?$/i.exec(line.trim()) ?? [];
    if (name === undefined) continue;
    const key = name.toLowerCase();
    const before = options.get(key);
    options.set(key, before === undefined ? value : `${before}\n${value}`);
  }
  return Object.fromEntries(options);
}

export function parseSshdRefusal(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  return lines.find((line) => line !== "") ?? "it gives no reason";
}

/** sshd wants to know more of a connection; before OpenSSH 8 all of it, once a user is named. */
const wantsConnection = /\bnot in connection test specification\b|\bare all required when testing Match\b/;

const wholeConnection = (user: string, port: number | string): string =>
  `user=${user},host=client.invalid,addr=192.0.2.1,laddr=192.0.2.2,lport=${port}`;

/**
 * By `sshd -T`, with includes and `Match` blocks that fit all connections, or those for a user. It needs root for the host keys.
 * @param ports.settings sshd's file; where it is not there, that of a distribution with its own below /usr.
 */
export function createSshServer(ports: {
  exec: Exec;
  path?: string;
  settings?: readonly string[];
  isRoot?: boolean;
}): SshServer {
  const { exec, path = program, settings = settingsFiles, isRoot = geteuid?.() === 0 } = ports;

  const blocksIn = async (): Promise<readonly MatchBlock[]> => {
    for (const file of settings) if ((await orUndefined(stat(file))) !== undefined) return readMatchBlocks(file);
    return [];
  };

  const ask = (connection: string, signal: AbortSignal) =>
    exec([path, "-T", ...(connection === "" ? [] : ["-C", connection])], { signal, timeoutMs });

  const refusalOf = (stderr: string): SshConfig => {
    const message = parseSshdRefusal(stderr);
    if (wantsConnection.test(stderr))
      return { is: "unknown", reason: `its configuration depends on the connection: ${message}` };
    // The directory is made when the service starts: without it nothing is wrong with the configuration.
    const isOff = message.startsWith("Missing privilege separation directory");
    if (isOff) return { is: "unknown", reason: "sshd is installed and has not been started yet" };
    return { is: "refused", message };
  };

  return {
    async config(signal, user) {
      if ((await orUndefined(stat(path))) === undefined) return undefined;
      if (!isRoot) return { is: "unknown", reason: "only root may ask sshd for its configuration" };
      // A comma would begin another condition.
      if (user !== undefined && /[,=\s]/.test(user.name))
        return { is: "unknown", reason: "sshd cannot be asked about a user with such a name" };
      const blocks = await blocksIn().catch((error: unknown) => errorMessage(error));
      if (typeof blocks === "string") return { is: "unknown", reason: blocks };
      const matches = matchesFor(blocks, user);
      const port = otherPort(blocks);
      const known = [
        ...(user === undefined ? [] : [`user=${user.name}`]),
        ...(port === undefined ? [] : [`lport=${port}`]),
      ];
      const { exitCode, stdout, stderr } = await ask(known.join(","), signal);
      if (exitCode === 0) return { is: "valid", options: parseSshdOptions(stdout), matches };
      const [match] = matches;
      if (!wantsConnection.test(stderr) || match !== undefined) return refusalOf(stderr);
      // No block depends on the rest.
      const whole = await ask(wholeConnection(user?.name ?? "nobody", port ?? 22), signal);
      if (whole.exitCode !== 0) return refusalOf(whole.stderr);
      return { is: "valid", options: parseSshdOptions(whole.stdout), matches };
    },
    async fromElsewhere(signal, port) {
      const { exitCode, stdout, stderr } = await ask(wholeConnection("nobody", port), signal);
      return exitCode === 0 ? { is: "valid", options: parseSshdOptions(stdout), matches: [] } : refusalOf(stderr);
    },
  };
}
