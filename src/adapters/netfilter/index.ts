import { readFile, stat } from "node:fs/promises";
import type { Exec } from "#adapters/exec/index.ts";
import type { InputChain, PacketFilter } from "#domain/ports/network.ts";
import { isNotFound, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { parseIptablesSave } from "./iptables.ts";
import { hasUnclearFlags, parseNftRuleset } from "./nft.ts";

const timeoutMs = 10_000;

const hostPaths = {
  nft: "/usr/sbin/nft",
  legacy: [
    { family: "ipv4", tables: "/proc/net/ip_tables_names", save: "/usr/sbin/iptables-legacy-save" },
    { family: "ipv6", tables: "/proc/net/ip6_tables_names", save: "/usr/sbin/ip6tables-legacy-save" },
  ],
} as const;

/** Why chains could not be read. */
class Unread extends Error {
  override readonly name = "Unread";
}

const pathExists = async (path: string): Promise<boolean> => (await orUndefined(stat(path))) !== undefined;

async function legacyTables(path: string): Promise<readonly string[] | undefined> {
  try {
    return (await readFile(path, "utf8")).split("\n").filter((name) => name !== "");
  } catch (error) {
    if (isNotFound(error)) return [];
    if (isPermissionDenied(error)) return undefined;
    throw error;
  }
}

/** Rules of nftables, with iptables-nft, ufw and firewalld, and of legacy iptables, for this network namespace. */
export function createPacketFilter(ports: {
  exec: Exec;
  paths?: {
    readonly nft: string;
    readonly legacy: readonly { readonly family: "ipv4" | "ipv6"; readonly tables: string; readonly save: string }[];
  };
}): PacketFilter {
  const { exec, paths = hostPaths } = ports;

  const ask = async (argv: readonly [string, ...string[]], signal: AbortSignal): Promise<string> => {
    if (!(await pathExists(argv[0]))) throw new Unread(`${argv[0]} is not installed`);
    const { exitCode, stdout, stderr, truncated } = await exec(argv, { signal, timeoutMs });
    const [reason = ""] = stderr.trim().split("\n");
    if (exitCode !== 0) throw new Unread(`${argv[0]}: ${reason === "" ? `exit code ${exitCode}` : reason}`);
    if (truncated) throw new Unread(`${argv[0]} lists more than can be read`);
    return stdout;
  };

  const nftablesChains = async (signal: AbortSignal): Promise<readonly InputChain[]> => {
    // Elements of sets are left out: there may be millions, and they refuse certain senders only.
    const text = await ask([paths.nft, "--json", "--terse", "list", "ruleset"], signal);
    if (!hasUnclearFlags(text)) return parseNftRuleset(text);
    return parseNftRuleset(text, await ask([paths.nft, "--terse", "list", "ruleset"], signal));
  };

  const legacyChains = async (place: (typeof paths.legacy)[number], signal: AbortSignal) => {
    // Only then: the program would have the kernel make the table.
    const tables = await legacyTables(place.tables);
    if (tables === undefined) throw new Unread(`only root may read ${place.tables}`);
    if (!tables.includes("filter")) return [];
    const chain = parseIptablesSave(await ask([place.save, "-t", "filter"], signal), place.family);
    return chain === undefined ? [] : [chain];
  };

  return {
    async inputChains(signal) {
      const sources = [nftablesChains(signal), ...paths.legacy.map((place) => legacyChains(place, signal))];
      const chains: InputChain[] = [];
      const unreadable: string[] = [];
      for (const each of await Promise.allSettled(sources)) {
        if (each.status === "fulfilled") chains.push(...each.value);
        else if (each.reason instanceof Unread) unreadable.push(each.reason.message);
        else throw each.reason;
      }
      return { chains, unreadable };
    },
  };
}
