import type { Style } from "../output/screen.ts";

/** The colour of an ActiveState. */
export function stateStyle(state: string): Style | undefined {
  if (state === "failed") return "red";
  return state === "active" ? "green" : "dim";
}
