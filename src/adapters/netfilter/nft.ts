import type { InputChain } from "#domain/ports/network.ts";
import { isRecord, type JsonObject } from "#kernel/values.ts";

const objectIn = (value: JsonObject, name: string): JsonObject | undefined => {
  const found = value[name];
  return isRecord(found) ? found : undefined;
};
const objectsIn = (value: JsonObject, name: string): readonly JsonObject[] => {
  const found: unknown = value[name];
  return Array.isArray(found) ? found.filter(isRecord) : [];
};
const textIn = (value: JsonObject, name: string): string => {
  const found = value[name];
  return typeof found === "string" ? found : "";
};

const familiesOf: Readonly<Record<string, InputChain["families"]>> = {
  ip: ["ipv4"],
  ip6: ["ipv6"],
  inet: ["ipv4", "ipv6"],
};

interface Rule {
  readonly isRefusing: boolean;
  readonly targets: readonly string[];
  readonly isNarrow: boolean;
}

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
  const parts = objectsIn(rule, "expr");
  const isRefusing = parts.some((part) => refuses(part) || (mapRefuses(part) && !isNarrowMap(part)));
  // Which states iptables means is not shown; what is refused by state is nearly always what belongs to no connection.
  const refusesByState = isRefusing && parts.some((part) => objectIn(part, "xt")?.["name"] === "conntrack");
  return { isRefusing, targets: parts.flatMap(targetsOf), isNarrow: refusesByState || parts.some(isNarrowing) };
}

function refusesSome(rules: ReadonlyMap<string, readonly Rule[]>, chain: string, seen = new Set<string>()): boolean {
  if (seen.has(chain)) return false;
  seen.add(chain);
  return (rules.get(chain) ?? []).some(
    ({ isRefusing, targets, isNarrow }) =>
      !isNarrow && (isRefusing || targets.some((target) => refusesSome(rules, target, seen))),
  );
}

const tableFlags: readonly unknown[] = ["dormant", "owner", "persist"];

function flagsOf({ flags = [] }: JsonObject): readonly unknown[] {
  return Array.isArray(flags) ? flags : [flags];
}

const listedIn = (text: string): readonly JsonObject[] => {
  const parsed: unknown = JSON.parse(text);
  return isRecord(parsed) ? objectsIn(parsed, "nftables") : [];
};
const tablesIn = (listed: readonly JsonObject[]): readonly JsonObject[] =>
  listed.map((each) => objectIn(each, "table")).filter((each) => each !== undefined);
const tableKey = (family: unknown, name: unknown): string => JSON.stringify([family, name]);

/** nftables 1.0.6 (Debian 12) writes the table's name where its flags belong. */
export const hasUnclearFlags = (text: string): boolean =>
  tablesIn(listedIn(text)).some((table) =>
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

  const marked = tablesIn(listed).filter((each) => flagsOf(each).includes("dormant"));
  const dormant = new Set(
    plain === undefined ? marked.map(({ family, name }) => tableKey(family, name)) : dormantIn(plain),
  );

  const rules = new Map<string, Rule[]>();
  for (const item of listed.map((each) => objectIn(each, "rule")).filter((each) => each !== undefined)) {
    const rule = readRule(item);
    const place = placeOf(item, textIn(item, "chain"));
    const targets = rule.targets.map((target) => placeOf(item, target));
    rules.set(place, [...(rules.get(place) ?? []), { ...rule, targets }]);
  }

  return listed.flatMap((each) => {
    const chain = objectIn(each, "chain");
    const families = familiesOf[chain === undefined ? "" : textIn(chain, "family")];
    if (chain === undefined || families === undefined || chain["hook"] !== "input") return [];
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
