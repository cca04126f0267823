import { isIP } from "node:net";

/** The resolver of glibc takes no more (MAXNS, resolv.conf(5)). */
const maxServers = 3;

/** Addresses on the `nameserver` lines of resolv.conf(5). */
export function parseNameServers(text: string): readonly string[] {
  return text
    .split("\n")
    .flatMap((line) => /^nameserver[ \t]+(\S+)/.exec(line)?.[1] ?? [])
    .filter((address) => isIP(address) !== 0)
    .slice(0, maxServers);
}
