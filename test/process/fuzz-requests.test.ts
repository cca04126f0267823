import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { fuzzRequests, isForPlansOnly } from "./support/fuzz-requests.ts";
import { type OpenapiDocument, operationsOf } from "./support/openapi.ts";

const path = new URL("../../docs/reference/openapi.json", import.meta.url);
const operations = operationsOf(JSON.parse(readFileSync(path, "utf8")) as OpenapiDocument);

/** All values of a parameter in the query of a path. */
const valuesOf = (address: string, name: string): readonly string[] =>
  new URLSearchParams(address.slice(address.indexOf("?") + 1)).getAll(name);

/** So many that each operation comes up often, however many there are. */
const numRuns = 100 * Object.keys(operations).length;

it("random requests change nothing on the machine that the tests run on", () => {
  const asked = new Map<string, number>();
  fc.assert(
    fc.property(fuzzRequests(operations), ({ operation, path: address }) => {
      if (operation === undefined) return;
      asked.set(operation.name, (asked.get(operation.name) ?? 0) + 1);
      expect(valuesOf(address, "refresh")).toEqual([]);
      if (isForPlansOnly(operation)) expect(valuesOf(address, "dry_run").at(-1)).toBe("true");
    }),
    { numRuns },
  );
  for (const name of ["applyUpdates", "createSnapshot", "deleteSnapshot", "rollback", "fixCheck", "restartService"])
    expect(asked.get(name) ?? 0).toBeGreaterThan(20);
});

it("random bodies have the members of their schemas", () => {
  const bodies = fc.sample(fuzzRequests(operations), numRuns).map(({ operation, body }) => [operation?.name, body]);
  const withMember = bodies.filter(([name, body]) => name === "applyUpdates" && body?.includes('"security_only":'));
  expect(withMember.length).toBeGreaterThan(20);
});
