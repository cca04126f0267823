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

type Found = { readonly chains: readonly InputChain[] } | { readonly untold: string };

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

  const ask = async (argv: readonly [string, ...string[]], signal: AbortSignal) => {
    if (!(await pathExists(argv[0]))) return { untold: `${argv[0]} is not installed` };
    const { exitCode, stdout, stderr, truncated } = await exec(argv, { signal, timeoutMs });
    const [reason = ""] = stderr.trim().split("\n");
    if (exitCode !== 0) return { untold: `${argv[0]}: ${reason === "" ? `exit code ${exitCode}` : reason}` };
    return truncated ? { untold: `${argv[0]} lists more than can be read` } : { text: stdout };
  };

  const lookAtNftables = async (signal: AbortSignal): Promise<Found> => {
    // Elements of sets are left out: there may be millions, and they refuse certain senders only.
    const answer = await ask([paths.nft, "--json", "--terse", "list", "ruleset"], signal);
    if (answer.text === undefined) return { untold: answer.untold };
    if (!hasUnclearFlags(answer.text)) return { chains: parseNftRuleset(answer.text) };
    const plain = await ask([paths.nft, "--terse", "list", "ruleset"], signal);
    if (plain.text === undefined) return { untold: plain.untold };
    return { chains: parseNftRuleset(answer.text, plain.text) };
  };

  const lookAtLegacy = async (place: (typeof paths.legacy)[number], signal: AbortSignal): Promise<Found> => {
    // Only then: the program would have the kernel make the table.
    const tables = await legacyTables(place.tables);
    if (tables === undefined) return { untold: `only root may read ${place.tables}` };
    if (!tables.includes("filter")) return { chains: [] };
    const answer = await ask([place.save, "-t", "filter"], signal);
    if (answer.text === undefined) return { untold: answer.untold };
    const chain = parseIptablesSave(answer.text, place.family);
    return { chains: chain === undefined ? [] : [chain] };
  };

  return {
    async inputChains(signal) {
      const found = await Promise.all([
        lookAtNftables(signal),
        ...paths.legacy.map((place) => lookAtLegacy(place, signal)),
      ]);
      return {
        chains: found.flatMap((each) => ("chains" in each ? each.chains : [])),
        untold: found.flatMap((each) => ("untold" in each ? [each.untold] : [])),
      };
    },
  };
}
