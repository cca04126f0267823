import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  accepted,
  breakingSince,
  currentDocuments,
  releasedDocuments,
  releasedPath,
} from "./compatibility/released.ts";
import { manifest } from "./package/project.ts";

const help = `usage: npm run compatibility [-- --release]

Compares the OpenAPI and AsyncAPI documents with those of the released versions, and prints what would break their clients
(docs/versioning.md).

  --release   keeps the documents of this version (${manifest.version}), to be compared with from now on
`;

const { values } = parseArgs({ options: { help: { type: "boolean" }, release: { type: "boolean" } } });
const current = currentDocuments(manifest.version);

if (values.help === true) {
  console.log(help);
} else if (values.release === true) {
  for (const kind of ["openapi", "asyncapi"] as const) {
    const path = releasedPath(manifest.version, kind);
    writeFileSync(path, `${JSON.stringify(current[kind])}\n`, { flag: "wx" });
    console.log(path);
  }
} else {
  for (const [version, documents] of releasedDocuments()) {
    const changes = breakingSince(documents, current);
    const open = changes.filter((each) => accepted[version]?.[each] === undefined);
    for (const each of changes) console.log(`${open.includes(each) ? "BREAKS" : "accepted"} ${version}: ${each}`);
    if (open.length > 0) process.exitCode = 1;
    else console.log(`compatible with ${version}`);
  }
}
