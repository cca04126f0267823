import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP, isIPv6 } from "node:net";
import type { NameServers } from "#domain/ports/network.ts";
import { errnoCode, orUndefined } from "#kernel/errors.ts";

const timeoutMs = 3_000;

/** An empty answer is an answer, and so is that there is no root, as closed networks say. */
const isAnswer = (code: string, name: string): boolean => code === "ENODATA" || (name === "." && code === "ENOTFOUND");

/** The resolver of glibc takes no more (MAXNS, resolv.conf(5)). */
const maxServers = 3;

export function parseNameServers(text: string): readonly string[] {
  return text
    .split("\n")
    .flatMap((line) => /^nameserver[ \t]+(\S+)/.exec(line)?.[1] ?? [])
    .filter((address) => isIP(address) !== 0)
    .slice(0, maxServers);
}

/** @param port for tests. */
export function createNameServers(options: { file?: string; port?: number } = {}): NameServers {
  const { file = "/etc/resolv.conf", port = 53 } = options;
  return {
    async list() {
      const text = await orUndefined(readFile(file, "utf8"));
      return text === undefined ? [] : parseNameServers(text);
    },
    async ask(server, name, signal) {
      const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
      const cancel = (): void => resolver.cancel();
      signal.addEventListener("abort", cancel, { once: true });
      const startedAt = performance.now();
      const durationMs = (): number => performance.now() - startedAt;
      try {
        resolver.setServers([isIPv6(server) ? `[${server}]:${port}` : `${server}:${port}`]);
        await (name === "." ? resolver.resolveNs(name) : resolver.resolve4(name));
        return { isAnswered: true, durationMs: durationMs() };
      } catch (error) {
        const code = errnoCode(error) ?? String(error);
        if (isAnswer(code, name)) return { isAnswered: true, durationMs: durationMs() };
        return { isAnswered: false, durationMs: durationMs(), code };
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    },
  };
}
