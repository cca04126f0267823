import type { DeprecationNotice } from "#client/deprecation.ts";
import { oneLine } from "../output/output.ts";

/** Warns once of each operation that the service is to lose, whatever command uses it. */
export function createDeprecationWarnings(err: (text: string) => void): (notice: DeprecationNotice) => void {
  const seen = new Set<string>();
  return ({ method, path, sunset, successor }) => {
    const operation = `${method} ${path}`;
    if (seen.has(operation)) return;
    seen.add(operation);
    const until = sunset === undefined ? "" : `, and may be gone after ${sunset.toISOString().slice(0, 10)}`;
    const instead = successor === undefined ? "" : `: ${oneLine(successor)} takes its place`;
    err(`steward: warning: ${operation} is deprecated${until}${instead}\n`);
  };
}
