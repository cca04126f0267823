import { describe, expect, it } from "vitest";
import { errorStatus } from "#contract/errors.ts";
import { operations, resources } from "#contract/index.ts";
import {
  checkIntervalMs,
  checkTimeoutMs,
  defaultRateLimits,
  durationBuckets,
  logQueryLimit,
  logWindowMs,
  maxConcurrentChecks,
  probeIntervalMs,
  serviceListLimit,
} from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { accepted, breakingSince, currentDocuments, releasedDocuments } from "../../scripts/compatibility/released.ts";
import { manifest } from "../../scripts/package/project.ts";
import { read } from "./project.ts";

const contract = read("docs/contract.md");

/** Rows of the table that follows a heading or a line, without its head. */
function rowsAfter(line: string): readonly (readonly string[])[] {
  const at = contract.indexOf(line);
  expect([line, at >= 0]).toEqual([line, true]);
  const table = contract.slice(at + line.length).split("\n");
  const start = table.findIndex((text) => text.startsWith("|"));
  const rows = table.slice(start);
  const end = rows.findIndex((text) => !text.startsWith("|"));
  return rows.slice(2, end).map((text) =>
    text
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Resources of the contract under their headings there. */
const headings = {
  "Health status": resources.HealthStatus,
  "Health check summary": resources.HealthCheckSummary,
  "Health check result": resources.HealthCheckResult,
  "System info": resources.SystemInfo,
  "System service entry": resources.ServiceEntry,
  "Log entry": resources.LogEntry,
  "Update check result": resources.UpdateCheck,
  "Update apply result": resources.UpdateApply,
  Snapshot: resources.Snapshot,
  Connector: resources.Connector,
  "Chat request": resources.ChatInput,
  "Chat response": resources.ChatAnswer,
  Plugin: resources.Plugin,
  "Error body": resources.ErrorBody,
} as const;

// What type each member has is compared with the released documents, which had the contract in full.
describe("docs/contract.md", () => {
  it("has no resource that the service lacks, and no member of one", () => {
    const sections = contract.slice(contract.indexOf("## Resources"), contract.indexOf("## States"));
    expect([...sections.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading)).toEqual(Object.keys(headings));
    for (const [heading, schema] of Object.entries(headings)) {
      for (const [path = ""] of rowsAfter(`### ${heading}\n`)) {
        const member = path
          .split(".")
          .reduce<Schema | undefined>((at, name) => at?.properties?.[name], schema as Schema);
        expect([heading, path, member !== undefined]).toEqual([heading, path, true]);
      }
    }
  });

  it("has no endpoint that the service lacks", () => {
    const endpoints = contract.slice(contract.indexOf("## Endpoints"), contract.indexOf("### WebSocket"));
    const agreed = [...endpoints.matchAll(/\*\*(GET|POST) (\/[^*]+)\*\*/g)].map(
      ([, method, path]) => `${method} ${path}`,
    );
    const built = Object.values<Operation>(operations).map(({ method, path }) => `${method} ${path}`);
    expect(agreed).toHaveLength(18);
    expect(agreed.filter((endpoint) => !built.includes(endpoint))).toEqual([]);
  });

  it("has the codes of errors with their statuses, and the limits and defaults", () => {
    for (const [code = "", status] of rowsAfter("## Errors"))
      expect([code, (errorStatus as Readonly<Record<string, number>>)[code]]).toEqual([code, Number(status)]);
    const limits = rowsAfter("## Limits").map(([name = "", value = ""]) => [name, Number.parseInt(value, 10)] as const);
    expect(Object.fromEntries(limits)).toMatchObject({
      "Requests per minute": defaultRateLimits.perMinute,
      "Requests per hour": defaultRateLimits.perHour,
      "Default `limit` for service listing": serviceListLimit.default,
      "Default `limit` for log query": logQueryLimit.default,
    });
    const buckets = durationBuckets.map((bound) => (bound === 1 || bound === 5 ? bound.toFixed(1) : bound));
    expect(contract).toContain(`buckets ${buckets.join(", ")} seconds`);
    expect(contract).toContain(`probed every ${probeIntervalMs / 1000}s`);
    expect([checkTimeoutMs, checkIntervalMs, maxConcurrentChecks, logWindowMs]).toEqual([30_000, 60_000, 4, 3_600_000]);
  });

  it("has the parameters of the queries of services and logs, with their defaults", () => {
    const properties: Readonly<Record<string, object>> = operations.listLogs.query.properties;
    for (const [name = "", type] of rowsAfter("**GET /system/logs**"))
      expect([name, properties[name]]).toMatchObject([name, { type }]);
    expect(properties).toMatchObject({ limit: { default: 1000 }, priority: { minimum: 0, maximum: 7 } });
    const status = { default: "all", enum: ["all", "active", "inactive", "failed"] };
    expect(operations.listServices.query.properties).toMatchObject({ status, limit: { default: 100 } });
  });
});

it.each([...releasedDocuments()])(
  "clients of %s are not broken, but for what is accepted with a reason",
  (version, documents) => {
    const changes = breakingSince(documents, currentDocuments(manifest.version));
    expect([...changes].sort()).toEqual(Object.keys(accepted[version] ?? {}).sort());
  },
);
