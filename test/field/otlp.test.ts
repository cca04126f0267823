import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Span } from "#contract/traces.ts";
import { readTraces } from "#transports/otlp/intake.ts";
import { describeCases, uncovered } from "./cases.ts";

interface Facts {
  /** Separated by blanks, sorted. */
  readonly services: string;
  readonly spans: number;
  readonly errors: number;
  readonly events: number;
  readonly links: number;
  readonly traces: number;
  readonly roots: number;
}
const facts = (
  services: string,
  [spans = 0, errors = 0, events = 0, links = 0, traces = 0, roots = 0]: readonly number[],
): Facts => ({ services, spans, errors, events, links, traces, roots });

const requests: Readonly<Record<string, Facts>> = {
  "demo-envoy-frontend-proxy": facts("frontend-proxy", [5, 0, 0, 0, 2, 0]),
  "demo-go-flagd": facts("flagd", [1, 0, 3, 0, 1, 1]),
  "demo-go-flagd-events": facts("flagd", [15, 0, 10, 0, 4, 1]),
  "demo-go-productcatalog-errors": facts("loadgenerator productcatalogservice", [13, 2, 3, 0, 13, 10]),
  "demo-go-productcatalog-many-errors": facts("loadgenerator productcatalogservice", [18, 7, 7, 0, 18, 14]),
  "demo-java-adservice": facts("adservice recommendationservice", [11, 0, 7, 0, 2, 0]),
  "demo-node-frontend-small": facts("frontend", [7, 0, 0, 1, 2, 1]),
  "demo-python-recommendation": facts("recommendationservice", [4, 0, 1, 0, 1, 0]),
  // One resource, with the same span twice.
  "jaeger-two-kinds": facts("telemetrygen", [2, 0, 0, 0, 1, 0]),
  "proto-trace": facts("my.service", [1, 0, 0, 0, 1, 0]),
};
const inProtobuf = ["demo-envoy-frontend-proxy", "demo-go-productcatalog-errors", "demo-java-adservice"];
const withoutTraces = ["demo-logs", "demo-metrics", "proto-logs", "proto-metrics"];

describeCases("otlp", ({ path, files }) => {
  const read = (name: string, format: "json" | "protobuf" = "json") =>
    readTraces({ bytes: readFileSync(path(`${name}.${format === "json" ? "json" : "pb"}`)), format, isGzip: false });
  const spansOf = ({ groups }: ReturnType<typeof read>): readonly Span[] =>
    groups.flatMap(({ spans }) => spans.map(({ json }) => JSON.parse(json) as Span));

  it("every file is read below", () => {
    const json = [...Object.keys(requests), ...withoutTraces].map((name) => `${name}.json`);
    expect(uncovered(files(), { read: [...json, ...inProtobuf.map((name) => `${name}.pb`)], unread: {} })).toEqual([]);
  });

  it.each(Object.entries(requests))("%s: spans, errors, events, links, traces and roots", (name, expected) => {
    const request = read(name);
    const spans = spansOf(request);
    const count = (of: (span: Span) => number): number => spans.reduce((sum, span) => sum + of(span), 0);
    const kept = request.groups.flatMap((group) => group.spans);
    expect([request.accepted, request.rejected]).toEqual([expected.spans, 0]);
    expect({
      services: [...new Set(request.groups.map(({ service }) => service))].toSorted().join(" "),
      spans: spans.length,
      errors: kept.filter(({ isError }) => isError).length,
      events: count(({ events }) => events.length),
      links: count(({ links }) => links.length),
      traces: new Set(kept.map(({ traceId }) => traceId)).size,
      roots: kept.filter(({ isRoot }) => isRoot).length,
    }).toEqual(expected);
  });

  it.each(inProtobuf)("%s: the same in protobuf as in JSON", (name) => {
    expect(read(name, "protobuf").groups).toEqual(read(name).groups);
  });

  it.each(withoutTraces)("%s: nothing of it is taken", (name) => {
    expect(read(name)).toMatchObject({ groups: [], accepted: 0, rejected: 0 });
  });

  it("proto-trace: ids in lower case, kind and times", () => {
    const request = read("proto-trace");
    const traceIds = request.groups.flatMap(({ spans }) => spans.map(({ traceId }) => traceId));
    expect(traceIds).toEqual(["5b8efff798038103d269b633813fc60c"]);
    expect(spansOf(request)).toMatchObject([
      {
        span_id: "eee19b7ec3c1b174",
        parent_span_id: "eee19b7ec3c1b173",
        kind: "server",
        name: "I'm a server span",
        start: "2018-12-13T14:51:00.000000000Z",
        duration_ms: 1000,
      },
    ]);
  });
});
