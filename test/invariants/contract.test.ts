import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorStatus } from "#contract/errors.ts";
import { operations, resources } from "#contract/index.ts";
import {
  apiBase,
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
import { openapiDocument } from "#transports/http/openapi.ts";
import { read, root } from "./project.ts";

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

type Schema = {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
};

const types: Readonly<Record<string, string>> = {
  string: "string",
  integer: "integer",
  boolean: "boolean",
  object: "object",
  array: "array",
  number: "number",
};

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

const memberOf = (schema: Schema, path: string): Schema | undefined =>
  path.split(".").reduce<Schema | undefined>((at, name) => at?.properties?.[name], schema);

/** `object: name, version (strings)` and the like: each name with its type. */
function innerFields(text: string): readonly (readonly [string, string])[] {
  const list = text.replace(/^(object|items)( keyed)?:?/, "");
  const fields: (readonly [string, string])[] = [];
  let waiting: string[] = [];
  for (const [, name = "", type] of list.matchAll(/(\w+)(?: \((\w+)(?:;[^)]*)?\))?/g)) {
    waiting.push(name);
    if (type === undefined) continue;
    for (const each of waiting) fields.push([each, type.replace(/s$/, "")]);
    waiting = [];
  }
  return fields;
}

it("is the interface that was agreed", () => {
  const agreed = join(root, "../shared/contract.md");
  if (!existsSync(agreed)) {
    process.stdout.write(
      "contract: shared/contract.md is not beside this checkout, so docs/contract.md stands for it\n",
    );
    return;
  }
  expect(contract).toBe(readFileSync(agreed, "utf8"));
});

describe("resources", () => {
  it("are all there", () => {
    const sections = contract.slice(contract.indexOf("## Resources"), contract.indexOf("## States"));
    expect([...sections.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading)).toEqual(Object.keys(headings));
  });

  it.each(Object.entries(headings))("%s has every field with its type", (heading, schema) => {
    for (const [field = "", type = "", notes = ""] of rowsAfter(`### ${heading}\n`)) {
      const member = memberOf(schema as Schema, field);
      const base = /^\w+/.exec(type)?.[0] ?? "";
      expect([field, [member?.type].flat()]).toEqual([field, expect.arrayContaining([types[base]])]);
      const inner = type.startsWith("object:") ? type : notes.startsWith("items:") ? notes : "";
      for (const [name, innerType] of innerFields(inner)) {
        const holder = inner.startsWith("items") ? member?.items : member;
        expect([field, name, holder?.properties?.[name]?.type]).toEqual([field, name, innerType]);
      }
      if (heading !== "Chat request" && heading !== "Error body") {
        const parent = field.includes(".")
          ? memberOf(schema as Schema, field.slice(0, field.lastIndexOf(".")))
          : (schema as Schema);
        expect([field, parent?.required]).toEqual([field, expect.arrayContaining([field.split(".").at(-1)])]);
      }
    }
  });

  it("names the components of the health status", () => {
    expect(Object.keys(resources.HealthStatus.properties.components.properties)).toEqual([
      "cli",
      "ops",
      "llm",
      "security",
    ]);
  });
});

describe("errors and limits", () => {
  it("has every code with its status", () => {
    for (const [code = "", status] of rowsAfter("## Errors")) {
      expect([code, (errorStatus as Readonly<Record<string, number>>)[code]]).toEqual([code, Number(status)]);
    }
  });

  it("has the limits and defaults", () => {
    const limits = Object.fromEntries(
      rowsAfter("## Limits").map(([name = "", value]) => [name, Number.parseInt(value ?? "", 10)]),
    );
    expect(limits["Requests per minute"]).toBe(defaultRateLimits.perMinute);
    expect(limits["Requests per hour"]).toBe(defaultRateLimits.perHour);
    expect(limits["Default `limit` for service listing"]).toBe(serviceListLimit.default);
    expect(limits["Default `limit` for log query"]).toBe(logQueryLimit.default);
    expect(contract).toContain(
      `buckets ${durationBuckets.map((bound) => (bound === 1 || bound === 5 ? bound.toFixed(1) : bound)).join(", ")} seconds`,
    );
    expect(contract).toContain(`probed every ${probeIntervalMs / 1000}s`);
  });

  it("gives a check the time, and a result the age, that were decided", () => {
    expect([checkTimeoutMs, checkIntervalMs, maxConcurrentChecks]).toEqual([30_000, 60_000, 4]);
  });

  it("has the defaults of the query parameters", () => {
    const { status, limit } = operations.listServices.query.properties;
    expect([status, limit]).toMatchObject([
      { default: "all", enum: ["all", "active", "inactive", "failed"] },
      { default: 100 },
    ]);
  });

  it("has the parameters of the log query and their defaults", () => {
    const properties: Readonly<Record<string, object>> = operations.listLogs.query.properties;
    for (const [name = "", type, value] of rowsAfter("**GET /system/logs**")) {
      expect([name, properties[name]]).toMatchObject([name, { type }]);
      if (name === "since") expect([value, logWindowMs]).toEqual(["1 hour ago", 60 * 60 * 1000]);
    }
    expect(properties).toMatchObject({ limit: { default: 1000 }, priority: { minimum: 0, maximum: 7 } });
  });
});

/** Endpoints of the contract whose part is still to be built; a part that gets its rows leaves this list. */
const notBuiltYet: readonly string[] = [];

describe("endpoints", () => {
  const agreed = [
    ...contract
      .slice(contract.indexOf("## Endpoints"), contract.indexOf("### WebSocket"))
      .matchAll(/\*\*(GET|POST) (\/[^*]+)\*\*/g),
  ].map(([, method, path]) => `${method} ${path}`);
  const built = new Set(Object.values<Operation>(operations).map(({ method, path }) => `${method} ${path}`));

  it("are those of the contract, but for what is listed here as not built yet", () => {
    expect(agreed).toHaveLength(18);
    expect(agreed.filter((endpoint) => !built.has(endpoint))).toEqual(notBuiltYet);
  });

  it("are in the OpenAPI document under the version prefix", () => {
    const { paths } = openapiDocument("0.0.0") as { paths: Readonly<Record<string, object>> };
    for (const endpoint of agreed.filter((each) => built.has(each))) {
      const [method = "", path = ""] = endpoint.split(" ");
      expect(paths[`${apiBase}${path}`]).toHaveProperty(method.toLowerCase());
    }
  });
});
