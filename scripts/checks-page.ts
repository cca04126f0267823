import { readFileSync } from "node:fs";
import { packageManagers, statusCheckId } from "#contract/check-meanings.ts";
import type { BuiltInCheck } from "#domain/health/check.ts";
import { builtInFixes, type FixPorts } from "#domain/health/fixes-registry.ts";
import { builtInChecks, type CheckPorts } from "#domain/health/registry.ts";

/** Those of a host with apt, which has all of them. Nothing is read here, and no check is run. */
const onPaper = { packages: { name: "apt" }, security: {} } as unknown as CheckPorts & FixPorts;
const checks = builtInChecks(onPaper);
const fixes = new Map(builtInFixes(onPaper).map((fix) => [fix.id, fix]));

const row = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

const sayMinutes = (ms: number): string => `${ms / 60_000} min`;

const sayInterval = ({ intervalMs, calmIntervalMs }: BuiltInCheck): string =>
  (intervalMs === undefined ? "general" : sayMinutes(intervalMs)) +
  (calmIntervalMs === undefined ? "" : `; ${sayMinutes(calmIntervalMs)} while it passes or is skipped`);

const sayThresholds = ({ thresholds }: BuiltInCheck): string =>
  thresholds === undefined
    ? ""
    : [thresholds.warn, thresholds.fail].map((each) => (Number.isFinite(each) ? String(each) : "none")).join(" / ");

/** Fixes with their risk, and the scopes that they take besides that of fixing. */
const sayFixes = ({ fixes: ids = [] }: BuiltInCheck): string =>
  ids
    .map((id) => {
      const fix = fixes.get(id);
      if (fix === undefined) throw new Error(`cannot make docs/reference/checks.md: there is no fix ${id}`);
      return `\`${id}\` (${[fix.risk, ...fix.alsoNeeds.map((scope) => `takes \`${scope}\``)].join(", ")})`;
    })
    .join(", ");

interface Costs {
  readonly machine: string;
  readonly runs: number;
  readonly checks: Readonly<Record<string, { readonly status: string; readonly cpu_ms: number }>>;
}

/** As `npm run bench-checks` has written them. */
const costs = JSON.parse(readFileSync(new URL("../bench/check-costs.json", import.meta.url), "utf8")) as Costs;

function sayCost(id: string): string {
  const cost = costs.checks[id];
  return cost === undefined ? "not measured" : `${cost.cpu_ms} ms (${cost.status})`;
}

/** The page on the checks that come with the service. */
export const checksPage = (): string =>
  [
    "<!-- Made by `npm run generate` from src/domain/health and bench/check-costs.json. -->\n",
    "# Health checks\n",
    "Thresholds (warn / fail), intervals and what is left out can be [set](../settings.md). Checks without an interval of their own",
    "run at the general one, once a minute. Those with a fix are fixed by `POST /api/v1/health/checks/{check_id}/fix`.\n",
    row(
      "check",
      "category",
      "severity",
      "warn / fail",
      "interval",
      "fixes (risk, and the scope taken besides `health:fix`)",
    ),
    row("---", "---", "---", "---", "---", "---"),
    ...checks.map((check) =>
      row(`\`${check.id}\``, check.category, check.severity, sayThresholds(check), sayInterval(check), sayFixes(check)),
    ),
    "\n## What each looks at\n",
    ...checks.map(({ id, about }) => `**\`${id}\`** ${about}\n`),
    "## What a finding means, and what to do\n",
    "`steward doctor --why` prints this below each finding. The cost is the processor time of one run, with that of the programs that it",
    "starts, and what the check said: one that is skipped costs less than where its subject is there. Measured by `npm run bench-checks`",
    `in the test host, ${costs.runs} runs, on ${costs.machine}.\n`,
    row("check", "meaning", "what to do", "processor time"),
    row("---", "---", "---", "---"),
    ...checks.map(({ id, meaning, remedy }) => row(`\`${id}\``, meaning, remedy, sayCost(id))),
    "",
  ].join("\n");

const lineWidth = 120;

/** A member of an object in a source, as the formatter has it. */
function member(name: string, text: string): string {
  const value = JSON.stringify(text);
  const line = `    ${name}: ${value},`;
  return line.length <= lineWidth ? line : `    ${name}:\n      ${value},`;
}

const statusCheckIds = packageManagers.map(statusCheckId);
/** All package managers have one meaning. */
const idOfMeaning = (id: string): string => (statusCheckIds.includes(id) ? "package_status" : id);

const meaningsSource = (about: string, rows: readonly (readonly [id: string, check: BuiltInCheck])[]): string =>
  [
    "// Made by `npm run generate` from src/domain/health/checks.\n",
    `/** What a warning or failure of each check means, and what to do about it${about}. */`,
    "export const checkMeanings = {",
    ...rows.map(([id, { meaning, remedy }]) =>
      [`  ${id}: {`, member("meaning", meaning), member("remedy", remedy), "  },"].join("\n"),
    ),
    "} as const;\n",
  ].join("\n");

/** What checks mean, for the command line, which knows the contract alone. */
export const checkMeaningsSource = (): string =>
  meaningsSource(
    "; `package_status` is that of all package managers",
    checks.map((check) => [idOfMeaning(check.id), check]),
  );

/** The same for the console, with each package manager. */
export const consoleMeaningsSource = (): string =>
  meaningsSource(
    "",
    checks.flatMap((check) =>
      (statusCheckIds.includes(check.id) ? statusCheckIds : [check.id]).map((id) => [id, check] as const),
    ),
  );
