import { describe, expect, it } from "vitest";
import { openapiDocument } from "#transports/http/openapi.ts";
import { breakingChanges } from "../../scripts/compatibility/breaking.ts";
import { accepted, releasedDocuments } from "../../scripts/compatibility/released.ts";
import { manifest } from "../../scripts/package/project.ts";

describe.each([...releasedDocuments()])("clients of %s", (version, document) => {
  it("are not broken, but for what is accepted with a reason (docs/versioning.md)", () => {
    const today = new Date().toISOString().slice(0, 10);
    const changes = breakingChanges(document, openapiDocument(manifest.version), today);
    expect([...changes].sort()).toEqual(Object.keys(accepted[version] ?? {}).sort());
  });
});
