import { stat } from "node:fs/promises";
import { geteuid } from "node:process";
import type { Exec } from "#adapters/exec/index.ts";
import type { SshServer } from "#domain/ports/network.ts";
import { orUndefined } from "#kernel/errors.ts";

const program = "/usr/sbin/sshd";
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

/** A connection of somebody from elsewhere at the usual port: a configuration that asks for one of these is only told for a whole one. */
const someConnection = (user: string): string =>
  `user=${user},host=client.invalid,addr=192.0.2.1,laddr=192.0.2.2,lport=22`;
const wantsConnection = /\bnot in connection test specification\b/;

/** By `sshd -T`, with includes and `Match` blocks that fit all connections. It needs root for the host keys. */
export function createSshServer(ports: { exec: Exec; path?: string; isRoot?: boolean }): SshServer {
  const { exec, path = program, isRoot = geteuid?.() === 0 } = ports;
  return {
    async config(signal, user) {
      if ((await orUndefined(stat(path))) === undefined) return undefined;
      if (!isRoot) return { is: "unknown", reason: "only root may ask sshd for its configuration" };
      // A comma would begin another condition.
      if (user !== undefined && /[,=\s]/.test(user))
        return { is: "unknown", reason: "sshd cannot be asked about a user with such a name" };
      const ask = (...words: readonly string[]) => exec([path, "-T", ...words], { signal, timeoutMs });
      const askFor = (name: string) => ask("-C", someConnection(name));
      const first = user === undefined ? await ask() : await askFor(user);
      const needsMore = user === undefined && first.exitCode !== 0 && wantsConnection.test(first.stderr);
      const { exitCode, stdout, stderr } = needsMore ? await askFor("nobody") : first;
      if (exitCode === 0) return { is: "valid", options: parseSshdOptions(stdout) };
      const message = parseSshdRefusal(stderr);
      if (wantsConnection.test(stderr))
        return { is: "unknown", reason: `its configuration depends on the connection: ${message}` };
      // The folder is made when the service starts: without it nothing is wrong with the configuration.
      const isOff = message.startsWith("Missing privilege separation directory");
      if (isOff) return { is: "unknown", reason: "sshd is installed and has not been started yet" };
      return { is: "refused", message };
    },
  };
}
