import type { SoakResult } from "./run.ts";
import { percentile } from "./samples.ts";

/** What stands around the table in a document. */
export const soakStart = "<!-- soak:start -->";
export const soakEnd = "<!-- soak:end -->";

const whole = (value: number): string => Math.round(value).toLocaleString("en").replaceAll(",", " ");

function aligned(rows: readonly (readonly [string, string])[]): string {
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const [head = ["", ""], ...body] = rows;
  return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...body.map(line)].join("\n");
}

/** The result as a Markdown table whose columns line up. */
export function formatSoak({ findings, tally, reloads, restarts, kills, failures }: SoakResult, words: string): string {
  const { residentMib, residentSlope, anonymousMib, heapMib, heapSlope, descriptors, threads } = findings;
  const slope = (each: { value: number; margin: number }) =>
    `${each.value.toFixed(2)} ± ${each.margin.toFixed(2)} MiB a minute`;
  const times = [...tally.latencies].map(
    ([kind, values]) =>
      [
        `${kind}: answered; median, 99th percentile`,
        `${whole(values.length)}; ${percentile(values, 50).toFixed(1)} ms, ${percentile(values, 99).toFixed(0)} ms`,
      ] as const,
  );
  return aligned([
    [`${words}, ${findings.minutes.toFixed(0)} minutes after warming up`, "seen"],
    [
      "resident memory, first and last quarter, most",
      `${residentMib.first.toFixed(0)}, ${residentMib.last.toFixed(0)}, ${residentMib.most.toFixed(0)} MiB`,
    ],
    ["its slope", slope(residentSlope)],
    [
      "of it not of files, first and last quarter",
      `${anonymousMib.first.toFixed(0)}, ${anonymousMib.last.toFixed(0)} MiB`,
    ],
    [
      "heaps of all threads after collection, first and last quarter",
      `${heapMib.first.toFixed(1)}, ${heapMib.last.toFixed(1)} MiB`,
    ],
    ["its slope", heapSlope === undefined ? "–" : slope(heapSlope)],
    ["descriptors, first and last quarter, most", `${descriptors.first}, ${descriptors.last}, ${descriptors.most}`],
    ["threads, first and last quarter", `${threads.first}, ${threads.last}`],
    ["processor", `${findings.cpuPercent.toFixed(0)} % of one`],
    [
      "delay of the event loop, 99th percentile, most",
      `${findings.loopP99Ms.toFixed(0)} ms, ${findings.loopMaxMs.toFixed(0)} ms`,
    ],
    ...times,
    ["streams opened, frames read", `${whole(tally.streams)}, ${whole(tally.frames)}`],
    [
      "changes acknowledged, reloads, restarts and kills under load",
      `${whole(tally.mutations)}, ${reloads}, ${restarts}, ${kills}`,
    ],
    ["calls failed, and while it restarted", `${tally.faults.length}, ${tally.interrupted.length}`],
    ["verdict", failures.length === 0 ? "held" : `not held: ${failures.join("; ").replaceAll("|", "\\|")}`],
  ]);
}

/**
 * A text with the table between its markers.
 * @returns undefined when it does not have both, in this order.
 */
export function withSoak(text: string, table: string, facts: string): string | undefined {
  const from = text.indexOf(soakStart);
  const to = text.indexOf(soakEnd);
  if (from === -1 || to < from) return undefined;
  return `${text.slice(0, from + soakStart.length)}\n${table}\n\n${facts}\n${text.slice(to)}`;
}
