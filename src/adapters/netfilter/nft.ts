import type { InputChain } from "#domain/ports/network.ts";
import { isRecord, type JsonObject, recordsIn } from "#kernel/values.ts";
import { type Rule, refusesSome } from "./iptables.ts";

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
