import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openapiDocument } from "#transports/http/openapi.ts";
import { breakingChanges } from "./compatibility/breaking.ts";
import { accepted, releasedDocuments, releasedFolder, withoutTexts } from "./compatibility/released.ts";
import { manifest } from "./package/project.ts";

const help = `usage: npm run compatibility [-- --release]

Compares the OpenAPI document with those of the released versions, and prints what would break their clients (docs/versioning.md).

  --release   keeps the document of this version (${manifest.version}), to be compared with from now on
`;

const { values } = parseArgs({ options: { help: { type: "boolean" }, release: { type: "boolean" } } });
const current = withoutTexts(openapiDocument(manifest.version)) as Readonly<Record<string, unknown>>;

if (values.help === true) {
  console.log(help);
} else if (values.release === true) {
  const path = join(releasedFolder, `${manifest.version}.json`);
  writeFileSync(path, `${JSON.stringify(current)}\n`, { flag: "wx" });
  console.log(path);
} else {
  for (const [version, document] of releasedDocuments()) {
    const changes = breakingChanges(document, current, new Date().toISOString().slice(0, 10));
    const open = changes.filter((each) => accepted[version]?.[each] === undefined);
    for (const each of changes) console.log(`${open.includes(each) ? "BREAKS" : "accepted"} ${version}: ${each}`);
    if (open.length > 0) process.exitCode = 1;
    else console.log(`compatible with ${version}`);
  }
}
