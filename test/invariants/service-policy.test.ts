import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, it } from "vitest";
import { unitVerbs } from "#domain/ports/units.ts";
import { defaultServicePolicy, instanceStates, permittedNames, protectedUnits } from "#domain/system/service-policy.ts";
import { polkitRuleFile } from "../../scripts/service-policy.ts";

type Rule = (action: { id: string; lookup: (key: string) => string }, subject: { user: string }) => unknown;

/** The polkit rule of the package, run as polkitd runs it, on a host where every unit is in this state. */
function loadRule(state: () => string): Rule {
  const rules: Rule[] = [];
  const polkit = {
    addRule: (rule: Rule) => void rules.push(rule),
    Result: { YES: "yes", NO: "no", NOT_HANDLED: null },
    spawn: () => `${state()}\n`,
    log: () => undefined,
  };
  runInNewContext(readFileSync(new URL(`../../${polkitRuleFile()}`, import.meta.url), "utf8"), { polkit });
  const [rule] = rules;
  if (rule === undefined) throw new Error("expected the file to add a rule");
  return rule;
}

let activeState = "active";
const rule = loadRule(() => activeState);
const permittedByPolkit = (unit: string, verb = "restart"): boolean =>
  rule(
    { id: "org.freedesktop.systemd1.manage-units", lookup: (key) => (key === "unit" ? unit : verb) },
    { user: "steward" },
  ) === "yes";
const permittedByDomain = (name: string): boolean =>
  defaultServicePolicy.refusal({ name, names: [name], activeState }) === undefined;

const listed = protectedUnits.flatMap((entry) => [...entry.names, ...permittedNames(entry)]);
const character = fc.constantFrom(...Array.from("abcdefxyz0189:-_.\\@*"));
const word = fc.string({ unit: character, maxLength: 12 });
/** Names of the table with its patterns filled in, changed in a place or not, and names of all sorts. */
const stem = fc.oneof(
  fc.tuple(fc.constantFrom(...listed), word).map(([pattern, text]) => pattern.replace("*", text)),
  fc
    .tuple(fc.constantFrom(...listed), word, fc.nat(30))
    .map(([pattern, text, at]) => `${pattern.slice(0, at)}${text}${pattern.slice(at)}`),
  word,
);
const state = fc.constantFrom(...instanceStates, "inactive", "maintenance");

it("polkit and the domain give the same answer for every service", () => {
  fc.assert(
    fc.property(stem, state, fc.constantFrom(...unitVerbs), (name, each, verb) => {
      activeState = each;
      const unit = `${name}.service`;
      expect({ unit, permitted: permittedByPolkit(unit, verb) }).toEqual({ unit, permitted: permittedByDomain(unit) });
    }),
    { numRuns: 20_000 },
  );
});

it("both answers occur for every entry of the table", () => {
  activeState = "active";
  for (const entry of protectedUnits) {
    for (const name of entry.names) expect(permittedByPolkit(`${name.replace("*", "x")}.service`)).toBe(false);
    for (const name of permittedNames(entry)) expect(permittedByPolkit(`${name.replace("*", "x")}.service`)).toBe(true);
  }
});

it("polkit permits no other kind of unit, and no other verb", () => {
  activeState = "active";
  for (const unit of ["dbus.socket", "reboot.target", "nginx", "nginx.service.d", ""])
    expect(permittedByPolkit(unit)).toBe(false);
  for (const verb of ["try-restart", "reload-or-restart", "freeze", "kill", "set-property", ""])
    expect(permittedByPolkit("nginx.service", verb)).toBe(false);
  expect(permittedByPolkit("nginx.service", "reset-failed")).toBe(true);
});
