import { incidents } from "../test/security/incidents.ts";

const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

/** The table of incidents and the tests that try them here. */
export function securityPage(): string {
  return [
    "<!-- Made by `npm run generate` from test/security/incidents.ts. -->\n",
    "# Incidents elsewhere, and the tests that try them here\n",
    "A service that may change a host over HTTP is worth attacking. Each row is a class of incidents, with where it was seen, and the",
    "tests that try the same against Steward. `test/security/incidents.test.ts` fails where a test of this list does not exist. What is",
    "defended against whom, and what is not, says the [threat model](../threat-model.md).\n",
    row("class", "seen in", "cause", "tests"),
    row("---", "---", "---", "---"),
    ...incidents.map(({ name, seen, cause, tests }) =>
      row(name, cell(seen), cell(cause), tests.map(([file, title]) => `[${cell(title)}](../../${file})`).join("<br>")),
    ),
    "",
  ].join("\n");
}
