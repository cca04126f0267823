import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { manPages } from "#cli/commands/man-pages.ts";
import { documentedProgram } from "#cli/program.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const [directory] = process.argv.slice(2);
if (directory === undefined) {
  console.error("usage: node scripts/man-pages.ts DIR");
  process.exit(2);
}
// The same sources give the same pages (reproducible-builds.org).
const epoch = process.env["SOURCE_DATE_EPOCH"];
const date = new Date(epoch === undefined ? Date.now() : Number(epoch) * 1000).toISOString().slice(0, 10);
mkdirSync(directory, { recursive: true });
const pages = manPages(documentedProgram(version), { version, date });
for (const { file, text } of pages) writeFileSync(join(directory, file), text);
console.log(`${resolve(directory)}: ${pages.length} pages`);
