import type { Condition } from "#domain/updates/condition.ts";

/** Units by what they are: `active`, `failed`, `inactive`, or `not found`. */
const unitsOf = (units: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(units).map(([name, activeState]) => [
      name,
      {
        activeState: activeState === "not found" ? "inactive" : activeState,
        state: activeState === "active" ? "active (running)" : activeState,
        staysActive: activeState === "active",
        ...(activeState === "active" && { hasFile: true as const }),
        ...(activeState === "not found" && { isAbsent: true as const }),
      },
    ]),
  );

/** The condition of a host on which nothing runs, but for what is said. */
export function fakeCondition(
  given: Partial<Omit<Condition, "units" | "failedUnits">> & { readonly units?: Readonly<Record<string, string>> } = {},
): Condition {
  const { checks = {}, listeners = [], units = {} } = given;
  const failed = Object.keys(units).filter((name) => units[name] === "failed");
  return {
    checks,
    listeners,
    units: unitsOf(units),
    failedUnits: Object.fromEntries(failed.map((name) => [name, { result: "exit-code" }])),
  };
}
