import type { ListeningSockets, OpenPort, SocketOwner } from "#domain/ports/network.ts";
import { listNames } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore } from "../check.ts";
import { type FilterHost, type InputChain, readInputChains } from "../packet-filter.ts";

const mostListed = 50;

const labelOf = ({ port, protocol }: OpenPort): string => `${port}/${protocol}`;
const isFiltering = ({ policy, isRefusing }: InputChain): boolean => policy === "drop" || isRefusing;
const familyNames = { ipv4: "IPv4", ipv6: "IPv6" } as const;

function nameAll(ports: readonly OpenPort[], owners: ReadonlyMap<number, SocketOwner>): readonly string[] {
  const programs = new Map<string, string | undefined>();
  for (const open of ports) programs.set(labelOf(open), owners.get(open.inode)?.program ?? programs.get(labelOf(open)));
  return [...programs].map(([label, program]) => (program === undefined ? label : `${label} (${program})`));
}

function sayChain({ table, name, policy }: InputChain): string {
  return `chain ${name} of table ${table} ${policy === "drop" ? "drops what no rule accepts" : "rejects part of it"}`;
}

export const firewallCheck = (ports: FilterHost & { sockets: ListeningSockets }): BuiltInCheck => ({
  id: "firewall",
  name: "Firewall",
  category: "security",
  severity: "medium",
  about:
    "Whether anything on this host filters what comes in. It passes where, for IPv4 and IPv6 each, a chain at the " +
    "input hook has the policy drop or a rule that drops or rejects, or where nothing listens beyond loopback; it " +
    "warns where something listens unfiltered, and skips where rules cannot be read. Rules that refuse only " +
    "certain senders, such as fail2ban's, do not count. Filters outside of the host are not seen, nor are ports " +
    "published by containers, which bypass the input hook. Sockets and rules are those of the service's network " +
    "namespace. `ignore` takes ports, `22` or `22/tcp`.",
  meaning: "A port is open to the network, and no packet filter on this host protects it.",
  remedy: "Filter incoming packets (nftables, ufw, firewalld), or bind the service only to the addresses that need it.",
  intervalMs: 10 * 60_000,
  async run({ ignore }, signal) {
    const isIgnored = createIgnore(ignore);
    const [all, { chains, unreadable }] = await Promise.all([ports.sockets.open(), readInputChains(ports, signal)]);
    const open = all.filter((each) => !isIgnored(String(each.port)) && !isIgnored(labelOf(each)));
    const filtering = chains.filter(isFiltering);
    const filtered = new Set(filtering.flatMap(({ families }) => families));
    const isExposed = (each: OpenPort): boolean => each.families.some((family) => !filtered.has(family));
    const exposed = open.filter(isExposed);
    const owners = await ports.sockets.owners(exposed.map(({ inode }) => inode));
    const details = {
      open_ports: open.slice(0, mostListed).map((each) => ({
        port: each.port,
        protocol: each.protocol,
        address: each.address,
        filtered: !isExposed(each),
        program: owners.get(each.inode)?.program ?? null,
      })),
      open_count: open.length,
      chains: chains.map(({ families, table, name, policy, isRefusing }) => ({
        families,
        table,
        name,
        policy,
        refusing: isRefusing,
      })),
    };
    if (open.length === 0) {
      const but = all.length === 0 ? "" : " but what settings ignore";
      return { status: "pass", message: `Nothing${but} listens beyond loopback`, details };
    }
    if (exposed.length === 0)
      return {
        status: "pass",
        message: `Incoming traffic is filtered: ${listNames(filtering.map(sayChain), 2)}`,
        details,
      };
    const names = nameAll(exposed, owners);
    const are = `${listNames(names, 5)} ${names.length === 1 ? "is" : "are"} open to the network`;
    if (unreadable.length > 0) {
      const message = `${are}, and it is unknown whether anything filters incoming traffic: ${unreadable.join("; ")}`;
      return { status: "skip", message, details: { ...details, reasons: unreadable } };
    }
    const bare = [...new Set(exposed.flatMap(({ families }) => families))].filter((family) => !filtered.has(family));
    const over = filtered.size === 0 ? "" : ` over ${bare.map((family) => familyNames[family]).join(" and ")}`;
    return { status: "warn", message: `${are}, and no rule filters incoming traffic${over}`, details };
  },
});
