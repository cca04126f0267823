import { expect, it } from "vitest";
import { tracingFaults } from "./tracing.ts";

const faultsOf = (tracing: { endpoint?: string; receiver?: "auto" | "on" } | undefined) =>
  tracingFaults({ ...(tracing && { tracing }) }, (path, message) => ({
    source: "file",
    path: path.join("."),
    message,
  }));

it.each([undefined, {}, { endpoint: "http://127.0.0.1:4318" }, { endpoint: "https://collector.example/otlp" }])(
  "finds nothing wrong with %j",
  (tracing) => {
    expect(faultsOf(tracing)).toEqual([]);
  },
);

it.each(["", "127.0.0.1:4318", "collector", "grpc://127.0.0.1:4317", "/var/run/collector"])(
  "takes no %j as an endpoint",
  (endpoint) => {
    expect(faultsOf({ endpoint })).toEqual([
      { source: "file", path: "tracing.endpoint", message: "must be an address such as http://127.0.0.1:4318" },
    ]);
  },
);

it("takes no endpoint that would be the service itself", () => {
  const endpoint = "http://localhost:4318";
  expect(faultsOf({ endpoint, receiver: "auto" })).toEqual([]);
  expect(faultsOf({ endpoint, receiver: "on" })).toMatchObject([
    { path: "tracing.endpoint", message: expect.stringContaining("receives traces itself") },
  ]);
});
