import { expect, it } from "vitest";
import { toBytes } from "./text.ts";
import { isOwnCollector, keepBytes, receiverPorts, tracingFaults } from "./tracing.ts";

const faultsOf = (tracing: { endpoint?: string; receiver?: "auto" | "on" } | undefined) =>
  tracingFaults({ ...(tracing && { tracing }) }, (path, message) => ({
    source: "file",
    path: path.join("."),
    message,
  }));

it.each([undefined, {}, { endpoint: "http://127.0.0.1:4318" }, { endpoint: "https://collector.example/otlp" }])(
  "settings of tracing accept %j",
  (tracing) => {
    expect(faultsOf(tracing)).toEqual([]);
  },
);

it.each(["", "127.0.0.1:4318", "collector", "grpc://127.0.0.1:4317", "/var/run/collector"])(
  "settings of tracing refuse the endpoint %j",
  (endpoint) => {
    expect(faultsOf({ endpoint })).toEqual([
      { source: "file", path: "tracing.endpoint", message: "must be an address such as http://127.0.0.1:4318" },
    ]);
  },
);

it("settings of tracing refuse the own receiver as an endpoint", () => {
  const endpoint = "http://localhost:4318";
  expect(faultsOf({ endpoint, receiver: "auto" })).toEqual([]);
  expect(faultsOf({ endpoint, receiver: "on" })).toMatchObject([
    { path: "tracing.endpoint", message: expect.stringContaining("itself receives traces") },
  ]);
});

it("settings of tracing have sizes in bytes, and a default", () => {
  expect([toBytes("1MiB"), toBytes("3GiB"), keepBytes({})]).toEqual([2 ** 20, 3 * 2 ** 30, 64 * 2 ** 20]);
});

it.each(["http://127.0.0.1:4318", "http://localhost:4317/", "http://[::1]:4318/v1/traces", "https://127.0.0.2:4317"])(
  "the endpoint %s is the own receiver",
  (endpoint) => {
    expect(isOwnCollector({ endpoint })).toBe(true);
  },
);

it.each(["http://127.0.0.1:4319", "http://127.0.0.1", "http://collector.example:4318", "http://10.0.0.1:4317", "no"])(
  "the endpoint %s is not the own receiver",
  (endpoint) => {
    expect(isOwnCollector({ endpoint })).toBe(false);
  },
);

it("the own receiver is recognized by the configured ports", () => {
  expect(receiverPorts({ ports: { http: 9000 } })).toEqual({ grpc: 4317, http: 9000 });
  const ports = { http: 9000 };
  expect(isOwnCollector({ endpoint: "http://localhost:4318", ports })).toBe(false);
  expect(isOwnCollector({ endpoint: "http://localhost:9000", ports })).toBe(true);
  expect(isOwnCollector({})).toBe(false);
});
