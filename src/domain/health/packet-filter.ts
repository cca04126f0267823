import type { HostFiles, RunProgram } from "#domain/ports/host-files.ts";
import { isNotFound, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { isRecord, type JsonObject, recordsIn } from "#kernel/values.ts";

/** A chain of rules for packets to this host. */
export interface InputChain {
  readonly families: readonly ("ipv4" | "ipv6")[];
  readonly table: string;
  readonly name: string;
  /** For packets without a decision. */
  readonly policy: "accept" | "drop";
  /**
   * Whether a rule of the chain, or of those it leads to, drops or rejects packets. Rules for certain senders, or for packets
   * without a known connection, do not count: they keep nobody else out.
   */
  readonly isRefusing: boolean;
}

interface Rule {
  readonly isRefusing: boolean;
  /** The chains that it leads to. */
  readonly targets: readonly string[];
  readonly isNarrow: boolean;
}

const senders = new Set(["-s", "--source", "--src-range", "--match-set"]);
const connectionStates = new Set(["--ctstate", "--state"]);

function readSavedRule(words: readonly string[]): Rule {
  const at = words.findIndex((word) => word === "-j" || word === "-g");
  const isNarrow = words.some(
    (word, index) =>
      words[index - 1] !== "!" &&
      (senders.has(word) || (connectionStates.has(word) && !(words[index + 1] ?? "").split(",").includes("NEW"))),
  );
  const target = (at < 0 ? undefined : words[at + 1]) ?? "";
  return { isRefusing: ["DROP", "REJECT", "TARPIT"].includes(target), targets: [target], isNarrow };
}

function refusesSome(rules: ReadonlyMap<string, readonly Rule[]>, chain: string, seen = new Set<string>()): boolean {
  if (seen.has(chain)) return false;
  seen.add(chain);
  return (rules.get(chain) ?? []).some(
    ({ isRefusing, targets, isNarrow }) =>
      !isNarrow && (isRefusing || targets.some((target) => refusesSome(rules, target, seen))),
  );
}

export function parseIptablesSave(text: string, family: "ipv4" | "ipv6"): InputChain | undefined {
  const rules = new Map<string, Rule[]>();
  let policy: InputChain["policy"] | undefined;
  for (const line of text.split("\n")) {
    const [, declared] = /^:INPUT (\w+)/.exec(line) ?? [];
    if (declared !== undefined) policy = declared === "DROP" ? "drop" : "accept";
    const [, chain, rest] = /^-A (\S+) (.*)$/.exec(line) ?? [];
    if (chain !== undefined && rest !== undefined)
      rules.set(chain, [...(rules.get(chain) ?? []), readSavedRule(rest.split(" "))]);
  }
  if (policy === undefined) return undefined;
  return { families: [family], table: "filter", name: "INPUT", policy, isRefusing: refusesSome(rules, "INPUT") };
}

const objectIn = (value: JsonObject, name: string): JsonObject | undefined => recordsIn([value[name]])[0];
const textIn = (value: JsonObject, name: string): string => {
  const found = value[name];
  return typeof found === "string" ? found : "";
};

const familiesOf: Readonly<Record<string, InputChain["families"]>> = {
  ip: ["ipv4"],
  ip6: ["ipv6"],
  inet: ["ipv4", "ipv6"],
};

function isNarrowing(part: JsonObject): boolean {
  const match = objectIn(part, "match");
  if (match === undefined || match["op"] === "!=") return false;
  const left = objectIn(match, "left") ?? {};
  if (objectIn(left, "payload")?.["field"] === "saddr") return true;
  return objectIn(left, "ct")?.["key"] === "state" && !JSON.stringify(match["right"] ?? "").includes('"new"');
}

const refuses = (part: JsonObject): boolean =>
  "drop" in part ||
  "reject" in part ||
  // How iptables writes what nftables has no words for.
  (objectIn(part, "xt")?.["type"] === "target" && objectIn(part, "xt")?.["name"] === "REJECT");

function verdictsOf(part: JsonObject): readonly JsonObject[] {
  const data = objectIn(part, "vmap")?.["data"];
  const set = isRecord(data) && Array.isArray(data["set"]) ? data["set"] : [];
  return set
    .flatMap((pair: unknown): readonly unknown[] => (Array.isArray(pair) ? pair.slice(1) : []))
    .filter(isRecord);
}

function targetsOf(part: JsonObject): readonly string[] {
  const direct = objectIn(part, "jump") ?? objectIn(part, "goto");
  return direct === undefined ? verdictsOf(part).flatMap(targetsOf) : [textIn(direct, "target")];
}

const mapRefuses = (part: JsonObject): boolean => verdictsOf(part).some(refuses);

function isNarrowMap(part: JsonObject): boolean {
  const key = objectIn(part, "vmap")?.["key"];
  return isRecord(key) && isNarrowing({ match: { op: "==", left: key } });
}

function readRule(rule: JsonObject): Rule {
  const parts = recordsIn(rule["expr"]);
  const isRefusing = parts.some((part) => refuses(part) || (mapRefuses(part) && !isNarrowMap(part)));
  // Which states iptables means is not shown; what is refused by state is nearly always what belongs to no connection.
  const refusesByState = isRefusing && parts.some((part) => objectIn(part, "xt")?.["name"] === "conntrack");
  return { isRefusing, targets: parts.flatMap(targetsOf), isNarrow: refusesByState || parts.some(isNarrowing) };
}

const tableFlags: readonly unknown[] = ["dormant", "owner", "persist"];

function flagsOf({ flags = [] }: JsonObject): readonly unknown[] {
  return Array.isArray(flags) ? flags : [flags];
}

const listedIn = (text: string): readonly JsonObject[] => {
  const parsed: unknown = JSON.parse(text);
  return isRecord(parsed) ? recordsIn(parsed["nftables"]) : [];
};
const kindIn = (listed: readonly JsonObject[], kind: "table" | "rule" | "chain"): readonly JsonObject[] =>
  recordsIn(listed.map((each) => each[kind]));
const tableKey = (family: unknown, name: unknown): string => JSON.stringify([family, name]);

/** nftables 1.0.6 (Debian 12) writes the table's name where its flags belong. */
export const hasUnclearFlags = (text: string): boolean =>
  kindIn(listedIn(text), "table").some((table) =>
    flagsOf(table).some((flag) => !tableFlags.includes(flag) || flag === table["name"]),
  );

function dormantIn(plain: string): readonly string[] {
  const heads = [...plain.matchAll(/^table (\S+) (\S+) \{(?: #.*)?\n(?:\tcomment .*\n)?\tflags (.*)$/gm)];
  return heads
    .filter(([, , , flags = ""]) => flags.split(/[ ,]+/).includes("dormant"))
    .map(([, family, name]) => tableKey(family, name));
}

/** Without dormant tables, which see no packets. @param plain `nft list ruleset`, where {@link hasUnclearFlags}. */
export function parseNftRuleset(text: string, plain?: string): readonly InputChain[] {
  const listed = listedIn(text);
  const placeOf = (item: JsonObject, chain: string): string => JSON.stringify([item["family"], item["table"], chain]);

  const marked = kindIn(listed, "table").filter((each) => flagsOf(each).includes("dormant"));
  const dormant = new Set(
    plain === undefined ? marked.map(({ family, name }) => tableKey(family, name)) : dormantIn(plain),
  );

  const rules = new Map<string, Rule[]>();
  for (const item of kindIn(listed, "rule")) {
    const rule = readRule(item);
    const place = placeOf(item, textIn(item, "chain"));
    const targets = rule.targets.map((target) => placeOf(item, target));
    rules.set(place, [...(rules.get(place) ?? []), { ...rule, targets }]);
  }

  return kindIn(listed, "chain").flatMap((chain) => {
    const families = familiesOf[textIn(chain, "family")];
    if (families === undefined || chain["hook"] !== "input") return [];
    if (dormant.has(tableKey(chain["family"], chain["table"]))) return [];
    const name = textIn(chain, "name");
    return [
      {
        families,
        table: textIn(chain, "table"),
        name,
        policy: chain["policy"] === "drop" ? ("drop" as const) : ("accept" as const),
        isRefusing: refusesSome(rules, placeOf(chain, name)),
      },
    ];
  });
}

const nft = "/usr/sbin/nft";
const legacy = [
  { family: "ipv4", tables: "/proc/net/ip_tables_names", save: "/usr/sbin/iptables-legacy-save" },
  { family: "ipv6", tables: "/proc/net/ip6_tables_names", save: "/usr/sbin/ip6tables-legacy-save" },
] as const;

/** Why chains could not be read. */
class Unread extends Error {
  override readonly name = "Unread";
}

export interface FilterHost {
  readonly hostFiles: Pick<HostFiles, "text" | "stat">;
  readonly exec: RunProgram;
}

/**
 * The chains that packets to this host go through: of nftables, with iptables-nft, ufw and firewalld, and of legacy iptables, in this
 * network namespace.
 * @returns `unreadable`: why other chains could not be read.
 */
export async function readInputChains(
  { hostFiles, exec }: FilterHost,
  signal: AbortSignal,
): Promise<{ readonly chains: readonly InputChain[]; readonly unreadable: readonly string[] }> {
  const ask = async (...argv: readonly [program: string, ...args: string[]]): Promise<string> => {
    const [program] = argv;
    if ((await orUndefined(hostFiles.stat(program))) === undefined) throw new Unread(`${program} is not installed`);
    const { exitCode, stdout, stderr, truncated } = await exec(argv, { signal, timeoutMs: 10_000 });
    const [reason = ""] = stderr.trim().split("\n");
    if (exitCode !== 0) throw new Unread(`${program}: ${reason === "" ? `exit code ${exitCode}` : reason}`);
    if (truncated === true) throw new Unread(`${program} lists more than can be read`);
    return stdout;
  };

  const nftablesChains = async (): Promise<readonly InputChain[]> => {
    // Elements of sets are left out: there may be millions, and they refuse certain senders only.
    const text = await ask(nft, "--json", "--terse", "list", "ruleset");
    if (!hasUnclearFlags(text)) return parseNftRuleset(text);
    return parseNftRuleset(text, await ask(nft, "--terse", "list", "ruleset"));
  };

  const legacyTables = async (path: string): Promise<readonly string[]> => {
    try {
      return (await hostFiles.text(path)).split("\n");
    } catch (error) {
      if (isNotFound(error)) return [];
      if (isPermissionDenied(error)) throw new Unread(`only root may read ${path}`);
      throw error;
    }
  };
  const legacyChains = async ({ family, tables, save }: (typeof legacy)[number]) => {
    // Only then: the program would have the kernel make the table.
    if (!(await legacyTables(tables)).includes("filter")) return [];
    const chain = parseIptablesSave(await ask(save, "-t", "filter"), family);
    return chain === undefined ? [] : [chain];
  };

  const chains: InputChain[] = [];
  const unreadable: string[] = [];
  for (const each of await Promise.allSettled([nftablesChains(), ...legacy.map(legacyChains)])) {
    if (each.status === "fulfilled") chains.push(...each.value);
    else if (each.reason instanceof Unread) unreadable.push(each.reason.message);
    else throw each.reason;
  }
  return { chains, unreadable };
}
