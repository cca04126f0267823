import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { streams } from "#contract/streams.ts";

const entries = (rows: readonly (readonly [string, string])[]): string =>
  rows.map(([name, value]) => `  ${name}: ${value},\n`).join("");

/** What the console has to know of the operations table: as the table itself it would be as large as all the rest of it. */
export function consoleOperations(): string {
  const rows = Object.entries<Operation>(operations).filter(([, { base }]) => base === undefined);
  const calls = rows.map(
    ([name, { method, path, scope, effect }]) =>
      [name, `["${method}", "${path.slice(1)}", "${scope}", "${effect}"]`] as const,
  );
  const opened = Object.entries(streams).map(
    ([name, { path, scope }]) => [name, `["${path.slice(1)}", "${scope}"]`] as const,
  );
  return `// Made by \`npm run generate\` from src/contract.

/** Method, path below the base of the API, scope and effect of each operation. */
export const operations = {
${entries(calls)}} as const;

/** Path and scope of the streams. */
export const streams = {
${entries(opened)}} as const;
`;
}
