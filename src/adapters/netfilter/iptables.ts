import type { InputChain } from "#domain/ports/network.ts";

export interface Rule {
  readonly isRefusing: boolean;
  /** The chains that it leads to. */
  readonly targets: readonly string[];
  readonly isNarrow: boolean;
}

const senders = new Set(["-s", "--source", "--src-range", "--match-set"]);
const connectionStates = new Set(["--ctstate", "--state"]);

function readRule(words: readonly string[]): Rule {
  const at = words.findIndex((word) => word === "-j" || word === "-g");
  const isNarrow = words.some(
    (word, index) =>
      words[index - 1] !== "!" &&
      (senders.has(word) || (connectionStates.has(word) && !(words[index + 1] ?? "").split(",").includes("NEW"))),
  );
  const target = (at < 0 ? undefined : words[at + 1]) ?? "";
  return { isRefusing: ["DROP", "REJECT", "TARPIT"].includes(target), targets: [target], isNarrow };
}

export function refusesSome(
  rules: ReadonlyMap<string, readonly Rule[]>,
  chain: string,
  seen = new Set<string>(),
): boolean {
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
      rules.set(chain, [...(rules.get(chain) ?? []), readRule(rest.split(" "))]);
  }
  if (policy === undefined) return undefined;
  return { families: [family], table: "filter", name: "INPUT", policy, isRefusing: refusesSome(rules, "INPUT") };
}
