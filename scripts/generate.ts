import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { ManifestFile } from "#adapters/plugins/schema.ts";
import { Settings } from "#config/settings.ts";
import { errorMeaning, errorStatus } from "#contract/errors.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { errorsOf } from "#contract/operation.ts";
import { narrowableScopes, roles, scopes } from "#contract/scopes.ts";
import type { Stream } from "#contract/streams.ts";
import { streams } from "#contract/streams.ts";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { checkMeaningsSource, checksPage, consoleMeaningsSource } from "./checks-page.ts";
import { consoleOperations } from "./console-operations.ts";
import { grafanaDashboard } from "./grafana-dashboard.ts";
import { prometheusRules } from "./prometheus-rules.ts";
import { securityPage } from "./security-page.ts";
import { polkitRule, polkitRuleFile, servicePolicyPage } from "./service-policy.ts";

const root = new URL("../", import.meta.url);
const docs = new URL("docs/", root);
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const made = "<!-- Made by `npm run generate` from src/contract. -->\n";

const access = ({ scope, alsoNeeds = [], doesMore, openToLoopback }: Operation): string => {
  if (scope === "public") return "none";
  const named = [scope, ...alsoNeeds].map((each) => `\`${each}\``).join(" and ");
  const more =
    doesMore === undefined
      ? ""
      : `, and what the ${doesMore === "fix" ? "fix" : "call"} takes ([below](#fixes-calls-and-plugins))`;
  return `${scope === "self" ? "any valid key" : named}${more}${openToLoopback ? " (none from loopback)" : ""}`;
};

function operationsPage(): string {
  const rows = Object.entries<Operation>(operations).map(([name, operation]) =>
    row(
      `\`${operation.method} ${operation.base === "root" ? "" : apiBase}${operation.path}\``,
      `\`${name}\``,
      access(operation),
      operation.effect,
      errorsOf(operation)
        .map((code) => `\`${code}\``)
        .join(" "),
      operation.summary,
    ),
  );
  return [
    made,
    "# Operations and the permission each needs\n",
    row("operation", "name", "scope", "effect", "errors", "what it does"),
    row("---", "---", "---", "---", "---", "---"),
    ...rows,
    "\n## Streams\n",
    row("WebSocket", "name", "scope", "what it does"),
    row("---", "---", "---", "---"),
    ...Object.entries<Stream>(streams).map(([name, { path, scope, summary }]) =>
      row(`\`${apiBase}${path}\``, `\`${name}\``, `\`${scope}\``, summary),
    ),
    "\n## Fixes, calls and plugins\n",
    "A fix of a health check (`fixCheck`) takes `health:fix` and the scopes that [its row](checks.md) names, also for a dry run; units that its plan",
    "names are compared with a narrowed `services:restart`. Anyone who approves a call needs the scopes of that call. What a plugin may do beyond its",
    "sandbox is given to it by anyone who enables it (`plugins:write`). Hooks run as they were enabled and can only refuse.",
    "\n## Scopes\n",
    "A scope may be narrowed to a resource (`services:restart:nginx.service`, `logs:read:app-*`), and each of them to hosts by `@` and a name or a pattern",
    "with `*`: `system:reboot@web-1`, `services:restart:nginx.service@web-*`, `operator@db-*`. It then holds where the host is so called, by its whole",
    "name or the part before the first dot; without `@` it holds on every host. Names of units have an `@` too, so there the host follows the whole",
    "name with its suffix: `services:restart:getty@tty1` is an instance, `services:restart:getty@tty1.service@web-1` the instance on a host.\n",
    row("scope", "may be narrowed to a resource", ...Object.keys(roles)),
    row("---", "---", ...Object.keys(roles).map(() => "---")),
    ...scopes.map((scope) =>
      row(
        `\`${scope}\``,
        narrowableScopes.includes(scope) ? "yes" : "",
        ...Object.values(roles).map((role) => ((role as readonly string[]).includes(scope) ? "x" : "")),
      ),
    ),
    "\n## Errors\n",
    row("code", "status", "meaning"),
    row("---", "---", "---"),
    ...Object.entries(errorMeaning).map(([code, meaning]) =>
      row(`\`${code}\``, String(errorStatus[code as keyof typeof errorStatus]), meaning),
    ),
    "",
  ].join("\n");
}

/** Every generated file, from docs on, with what it must hold. */
const generated: Readonly<Record<string, () => string>> = {
  "reference/openapi.json": () => json(openapiDocument(version)),
  "reference/asyncapi.json": () => json(asyncapiDocument(version)),
  "reference/config.schema.json": () => json({ $schema: "https://json-schema.org/draft/2020-12/schema", ...Settings }),
  "reference/plugin.schema.json": () =>
    json({ $schema: "https://json-schema.org/draft/2020-12/schema", ...ManifestFile }),
  "reference/operations.md": operationsPage,
  "reference/checks.md": checksPage,
  "reference/security-tests.md": securityPage,
  "reference/services.md": servicePolicyPage,
  [`../${polkitRuleFile()}`]: polkitRule,
  "../web/src/api/operations.generated.ts": consoleOperations,
  "../src/contract/check-meanings.generated.ts": checkMeaningsSource,
  "../web/src/api/check-meanings.generated.ts": consoleMeaningsSource,
  "../deploy/observability/prometheus/steward-alerts.yml": prometheusRules,
  "../deploy/observability/grafana/steward.json": grafanaDashboard,
};

const isCheck = process.argv.includes("--check");
mkdirSync(new URL("reference/", docs), { recursive: true });
const stale: string[] = [];
for (const [name, make] of Object.entries(generated)) {
  const path = fileURLToPath(new URL(name, docs));
  if (!isCheck) {
    writeFileSync(path, make());
    continue;
  }
  let present = "";
  try {
    present = readFileSync(path, "utf8");
  } catch {
    // Missing counts as stale.
  }
  if (present !== make()) stale.push(relative(fileURLToPath(root), path));
}
if (stale.length > 0) {
  console.error(`generated files are not what the sources make: ${stale.join(", ")} (run: npm run generate)`);
  process.exitCode = 1;
}
