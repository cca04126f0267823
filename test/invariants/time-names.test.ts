import { expect, it } from "vitest";
import { isRecord } from "#kernel/values.ts";
import { openapiDocument } from "#transports/http/openapi.ts";

/** Members that hold a time under an older name, each with the schemas that have it and the reason. No other is added. */
const older: Readonly<Record<string, { readonly schemas: string; readonly reason: string }>> = {
  time: { schemas: "AuditRecord HostTime HostTimeChange SpanEvent", reason: "In 0.2.0, and the clock itself." },
  timestamp: { schemas: "LogEntry", reason: "In the contract." },
  start: { schemas: "Span TraceSummary", reason: "In 0.2.0; it has a duration beside it." },
  start_time: { schemas: "ProcessEntry SignalInput", reason: "The kernel's word, which with the pid names a process." },
  since: {
    schemas:
      "Alert HealthCheckResult HealthCheckUptime LogHistogram LoginList RestartResult ServiceChange ServiceDetails ServiceEntry ServiceFileChange SystemMetrics UnitEntry frames",
    reason: "In the contract for a state; the begin of a window, named as the parameter that asks for it.",
  },
  until: {
    schemas:
      "HealthCheckUptime LogHistogram OperationDetail OperationEntry RemovedSilence Silence SilenceInput SystemMetrics frames",
    reason: "In 0.2.0 for silences; the end of a window, named as the parameter that asks for it.",
  },
  next_window: { schemas: "Plan", reason: "Named as in `details` of the refusal that the plan foretells." },
  at: {
    schemas: "CheckMetricPoint LogHistogram LoginList RebootInput",
    reason: "`*_at` without a word before it: a point of a series, an event, the time that is asked for.",
  },
  first: { schemas: "LogBootList LogTemplates", reason: "Beside `last`: the timestamps of two entries." },
  last: { schemas: "LogBootList LogTemplates", reason: "Beside `first`: the timestamps of two entries." },
};

const isTimestamp = (schema: unknown): boolean =>
  isRecord(schema) &&
  (schema["format"] === "date-time" ||
    isTimestamp(schema["items"]) ||
    [schema["anyOf"] ?? []].flat().some(isTimestamp));

/** Names of members that hold a time, in a schema and in those inside it. */
function timestamps(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(timestamps);
  if (!isRecord(schema)) return [];
  const members = isRecord(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const own = members.flatMap(([name, member]) => (isTimestamp(member) ? [name] : []));
  return [...own, ...Object.values(schema).flatMap(timestamps)];
}

const { components, paths } = openapiDocument("1.2.3") as {
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
  readonly paths: unknown;
};

it("a member that holds a time is called `*_at`, but for those with older names", () => {
  // What stands in no schema of its own is frames of streams.
  const named = Object.entries({ ...components.schemas, frames: paths }).flatMap(([schema, value]) =>
    [...new Set(timestamps(value))].map((member) => ({ member, schema })),
  );
  const others = Map.groupBy(
    named.filter(({ member }) => !member.endsWith("_at")),
    ({ member }) => member,
  );
  const found = [...others].map(([member, at]) => [
    member,
    at
      .map(({ schema }) => schema)
      .toSorted()
      .join(" "),
  ]);
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(older).map(([member, { schemas }]) => [member, schemas])),
  );
});
