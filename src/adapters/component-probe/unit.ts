import type { ProbeResult } from "#domain/ports/probe.ts";
import type { Unit } from "#domain/ports/units.ts";

export type ReadUnit = (name: string) => Promise<Pick<Unit, "loadState" | "activeState" | "subState" | "result">>;

const runs: readonly string[] = ["active", "reloading", "refreshing", "activating"];

/** Whether a unit runs, or is about to. One that waits to be tried again does not. */
export async function probeUnit(name: string, read: ReadUnit): Promise<ProbeResult> {
  const { loadState, activeState, subState, result } = await read(name);
  if (loadState === "not-found") return { healthy: false, expected: true, reason: `there is no unit ${name}` };
  if (runs.includes(activeState) && subState !== "auto-restart") return { healthy: true, expected: true };
  const why = result === "" || result === "success" ? "" : `: ${result}`;
  return { healthy: false, expected: true, reason: `${name} is ${activeState} (${subState})${why}` };
}
