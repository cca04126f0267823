import { type CheckStatus, type FixResult, type HealthCheckResult, isUnhealthy } from "#contract/checks.ts";
import { counted } from "#kernel/text.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { paint, type Style } from "../output/screen.ts";
import { fitText } from "../output/text-width.ts";

const signs: Readonly<Record<CheckStatus, { readonly sign: string; readonly style: Style | undefined }>> = {
  pass: { sign: "✓", style: "green" },
  warn: { sign: "!", style: "yellow" },
  fail: { sign: "✗", style: "red" },
  skip: { sign: "-", style: "dim" },
};

const signColumns = 2;
const statusColumns = 5;
const gap = 2;
/** Space for the message on the narrowest terminals. */
const fewestMessageColumns = 12;

export function printResults(io: Io, results: readonly HealthCheckResult[]): void {
  const screen = screenOf(io);
  const columns = screen.columns() ?? Number.POSITIVE_INFINITY;
  const ids = results.map(({ check_id: id }) => id.length);
  const room = columns - signColumns - statusColumns - gap - fewestMessageColumns;
  const idColumns = Math.max(4, Math.min(Math.max(...ids), room));
  for (const category of new Set(results.map((result) => result.category))) {
    io.out(`${paint(screen, "bold", oneLine(category))}\n`);
    for (const result of results.filter((each) => each.category === category)) {
      const { sign, style } = signs[result.status];
      const head = `${fitText(oneLine(result.check_id), idColumns).padEnd(idColumns)}  `;
      const message = fitText(oneLine(result.message), columns - signColumns - statusColumns - idColumns - gap);
      io.out(`${paint(screen, style, `${sign} ${result.status.padEnd(statusColumns)}`)}${head}${message}\n`);
    }
  }
}

export function sumInWords(io: Io, results: readonly HealthCheckResult[]): string {
  const screen = screenOf(io);
  const count = (status: CheckStatus): number => results.filter((result) => result.status === status).length;
  const [failed, warned, skipped] = [count("fail"), count("warn"), count("skip")];
  const fixable = results.filter((each) => each.fixable && isUnhealthy(each)).length;
  const left = skipped === 0 ? "" : `, ${skipped} skipped`;
  if (failed + warned === 0) {
    return `${paint(screen, "green", "All is well")}: ${counted(results.length, "check")}${left}\n`;
  }
  const parts = [failed === 0 ? "" : `${failed} failed`, warned === 0 ? "" : `${warned} warned`].filter(Boolean);
  const help = fixable === 0 ? "" : `; ${fixable} can be fixed (--fix)`;
  const found = paint(screen, failed > 0 ? "red" : "yellow", `Found trouble: ${parts.join(", ")}`);
  return `${found} of ${counted(results.length, "check")}${left}${help}\n`;
}

export function printFixed(io: Io, { success, message, steps }: FixResult): void {
  const screen = screenOf(io);
  for (const { action, status, message: came } of steps) {
    io.out(`  ${status}: ${oneLine(action)}${came === "" ? "" : `: ${oneLine(came)}`}\n`);
  }
  io.out(`${paint(screen, success ? "green" : "red", success ? "fixed" : "not fixed")}: ${oneLine(message)}\n`);
}
