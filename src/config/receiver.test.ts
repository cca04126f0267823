import { expect, it } from "vitest";
import { isOwnCollector, keepBytes, receiverPorts, toBytes } from "./receiver.ts";

it("reads sizes, and has one where none is set", () => {
  expect([toBytes("1MiB"), toBytes("3GiB"), keepBytes({})]).toEqual([2 ** 20, 3 * 2 ** 30, 64 * 2 ** 20]);
});

it.each(["http://127.0.0.1:4318", "http://localhost:4317/", "http://[::1]:4318/v1/traces", "https://127.0.0.2:4317"])(
  "knows that %s is where traces would be received",
  (endpoint) => {
    expect(isOwnCollector({ endpoint })).toBe(true);
  },
);

it.each(["http://127.0.0.1:4319", "http://127.0.0.1", "http://collector.example:4318", "http://10.0.0.1:4317", "no"])(
  "knows that %s is elsewhere",
  (endpoint) => {
    expect(isOwnCollector({ endpoint })).toBe(false);
  },
);

it("goes by the ports that are set", () => {
  expect(receiverPorts({ ports: { http: 9000 } })).toEqual({ grpc: 4317, http: 9000 });
  const ports = { http: 9000 };
  expect(isOwnCollector({ endpoint: "http://localhost:4318", ports })).toBe(false);
  expect(isOwnCollector({ endpoint: "http://localhost:9000", ports })).toBe(true);
  expect(isOwnCollector({})).toBe(false);
});
