import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { checkMeanings } from "#contract/check-meanings.ts";

const health = new URL("../src/domain/health/", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, health), "utf8");

const row = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** The first group of a pattern. @throws where the source is not written as expected: then this page would be wrong. */
function found(source: string, pattern: RegExp, what: string): string {
  const [, text] = pattern.exec(source) ?? [];
  if (text === undefined) throw new Error(`cannot make docs/reference/checks.md: ${what} is not found in its source`);
  return text;
}

/** What the comment of the exported factory says, as one line. */
function describe(source: string, id: string): string {
  const comments = [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport (?:const|function) \w+Check\b/g)];
  const [, comment] = comments[0] ?? [];
  if (comment === undefined) throw new Error(`cannot make docs/reference/checks.md: ${id} has no comment`);
  return comment.replaceAll(/\s*\n \*\s?/g, " ").trim();
}

/** Milliseconds that a check says its result may be old: a product of numbers, or a constant that is one. */
function intervalMs(source: string, id: string, field = "intervalMs"): number | undefined {
  const [, written] = new RegExp(`\\b${field}: ([^,\\n]+)`).exec(source) ?? [];
  if (written === undefined) return undefined;
  const isName = /^[a-z]\w*$/i.test(written);
  const product = isName ? found(source, new RegExp(`const ${written} = ([^;\\n]+);`), `interval of ${id}`) : written;
  const factors = product.split("*").map((factor) => factor.trim().replaceAll("_", ""));
  if (!factors.every((factor) => /^\d+$/.test(factor)))
    throw new Error(`cannot make docs/reference/checks.md: the interval of ${id} is ${product}`);
  return factors.reduce((whole, factor) => whole * Number(factor), 1);
}

const sayInterval = (ms: number | undefined, calmMs: number | undefined): string =>
  (ms === undefined ? "general" : `${ms / 60_000} min`) +
  (calmMs === undefined ? "" : `; ${calmMs / 60_000} min while it passes or is skipped`);

/** The thresholds in the source: as an object, or as defaults of the settings. */
function sayThresholds(source: string): string {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const [, warn, fail] =
    /thresholdsFor\(\{ warn: ([^,]+), fail: ([^ ]+) \}/.exec(code) ??
    /\{ warn = ([^,]+), fail = ([\w.]+)/.exec(code) ??
    [];
  if (warn === undefined || fail === undefined) return "";
  return `${warn} / ${fail === "Number.POSITIVE_INFINITY" ? "none" : fail}`;
}

const fixSource = (id: string): string => read(`fixes/${id.replaceAll("_", "-")}.ts`);

/** The scopes that a fix says it needs. */
const neededBy = (id: string): readonly string[] =>
  [...found(fixSource(id), /\balsoNeeds: \[([^\]]*)\]/, `scopes of ${id}`).matchAll(/"([^"]+)"/g)].map(
    ([, scope = ""]) => scope,
  );

/** Fixes with their risk, and the scopes that they take besides that of fixing. */
function sayFixes(source: string): string {
  const ids = (/\bfixes: \[([^\]]*)\]/.exec(source)?.[1] ?? "").matchAll(/"(\w+)"/g);
  return [...ids]
    .map(([, id = ""]) => {
      const risk = found(fixSource(id), /\brisk: "(\w+)"/, `risk of ${id}`);
      return `\`${id}\` (${[risk, ...neededBy(id).map((scope) => `takes \`${scope}\``)].join(", ")})`;
    })
    .join(", ");
}

/** The id by which a host with apt knows a check: it is what paths and settings take. */
const shownId = (id: string, source: string): string => (source.includes("statusCheckId") ? "apt_status" : id);

/** Ids in the order of the registry, each with its source. */
function checks(): readonly { readonly id: string; readonly source: string }[] {
  const registry = read("registry.ts");
  const files = new Map(
    readdirSync(new URL("checks", health))
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => [basename(name, ".ts"), read(`checks/${name}`)]),
  );
  const factories = new Map(
    [...registry.matchAll(/import \{ (?:type \w+, )?(\w+)(?:, \w+)* \} from "\.\/checks\/([\w-]+)\.ts"/g)].map(
      ([, name, file]) => [name, file],
    ),
  );
  return [...registry.matchAll(/^ {2}\w+: (\w+Check),$/gm)].map(([, factory]) => {
    const file = factories.get(factory) ?? "";
    const source = files.get(file);
    if (source === undefined) throw new Error(`cannot make docs/reference/checks.md: ${factory} has no file`);
    return { id: file.replaceAll("-", "_"), source };
  });
}

interface Costs {
  readonly machine: string;
  readonly runs: number;
  readonly checks: Readonly<Record<string, { readonly status: string; readonly cpu_ms: number }>>;
}

/** As `npm run bench-checks` has written them. */
const costs = JSON.parse(readFileSync(new URL("../bench/check-costs.json", import.meta.url), "utf8")) as Costs;

const sayCost = (shown: string): string => {
  const cost = costs.checks[shown];
  return cost === undefined ? "not measured" : `${cost.cpu_ms} ms (${cost.status})`;
};

/** What a finding means, what to do about it, and what finding out costs. */
function sayMeaning(id: string, shown: string): string {
  const meanings: Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>> = checkMeanings;
  const known = meanings[id];
  if (known === undefined) throw new Error(`cannot make docs/reference/checks.md: ${id} has no meaning`);
  return row(`\`${shown}\``, known.meaning, known.remedy, sayCost(shown));
}

/** The page on the checks that come with the service, from their sources. */
export function checksPage(): string {
  const all = checks();
  return [
    "<!-- Made by `npm run generate` from src/domain/health, src/contract/check-meanings.ts and bench/check-costs.json. -->\n",
    "# Health checks\n",
    "Thresholds (warn / fail), intervals and what is left out can be [set](../settings.md). Checks without an interval of their own",
    "run at the general one, once a minute. Those with a fix are mended by `POST /api/v1/health/checks/{check_id}/fix`.\n",
    row(
      "check",
      "category",
      "severity",
      "warn / fail",
      "interval",
      "fixes (risk, and the scope taken besides `health:fix`)",
    ),
    row("---", "---", "---", "---", "---", "---"),
    ...all.map(({ id, source }) =>
      row(
        `\`${shownId(id, source)}\``,
        found(source, /\bcategory: "(\w+)"/, `category of ${id}`),
        found(source, /\bseverity: "(\w+)"/, `severity of ${id}`),
        sayThresholds(source),
        sayInterval(intervalMs(source, id), intervalMs(source, id, "calmIntervalMs")),
        sayFixes(source),
      ),
    ),
    "\n## What each looks at\n",
    ...all.map(({ id, source }) => `**\`${shownId(id, source)}\`** ${describe(source, id)}\n`),
    "## What a finding means, and what to do\n",
    "`steward doctor --why` prints this below each finding. The cost is the processor time of one run, with that of the programs that it",
    "starts, and what the check said: one that is skipped costs less than where its subject is there. Measured by `npm run bench-checks`",
    `in the test host, ${costs.runs} runs, on ${costs.machine}.\n`,
    row("check", "meaning", "what to do", "processor time"),
    row("---", "---", "---", "---"),
    ...all.map(({ id, source }) => sayMeaning(id, shownId(id, source))),
    "",
  ].join("\n");
}
