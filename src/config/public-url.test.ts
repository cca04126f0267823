import { describe, expect, it } from "vitest";
import { publicAddressOf, publicUrlFaults } from "./public-url.ts";

const faultsOf = (text: string) =>
  publicUrlFaults({ public_url: text }, (path, message) => ({ source: "settings", path: path.join("."), message }));

describe("public_url", () => {
  it.each([
    ["https://hosts.example.org", { url: "https://hosts.example.org", host: "hosts.example.org", base: "" }],
    ["https://Hosts.example.org/", { url: "https://hosts.example.org", host: "hosts.example.org", base: "" }],
    ["https://hosts.example.org:8443/web1", { host: "hosts.example.org", base: "/web1" }],
    [
      "http://hosts.example.org/a/web_1.x~y-z/",
      { url: "http://hosts.example.org/a/web_1.x~y-z", base: "/a/web_1.x~y-z" },
    ],
    ["https://[2001:db8::1]/w", { origin: "https://[2001:db8::1]", host: "2001:db8::1", base: "/w" }],
  ])("accepts %s", (text, expected) => {
    expect(faultsOf(text)).toEqual([]);
    expect(publicAddressOf({ public_url: text })).toMatchObject(expected);
  });

  it.each([
    ["hosts.example.org", "must be an address"],
    ["ftp://hosts.example.org", "must be an address"],
    ["https://me@hosts.example.org", "path only"],
    ["https://hosts.example.org/?a", "path only"],
    ["https://hosts.example.org/#a", "path only"],
    ["https://hosts.example.org/a%2Fb", "must have a path of"],
    ["https://hosts.example.org/a//b", "must have a path of"],
    ["https://hosts.example.org/a/.b", "must have a path of"],
    ["https://hosts.example.org/api", "starts with /api"],
    ["https://hosts.example.org/metrics/x", "starts with /metrics"],
    ["https://hosts.example.org/livez", "starts with /livez"],
    ["https://hosts.example.org/console", "starts with /console"],
  ])("refuses %s", (text, message) => {
    expect(faultsOf(text)).toEqual([
      { source: "settings", path: "public_url", message: expect.stringContaining(message) },
    ]);
    expect(publicAddressOf({ public_url: text })).toBeUndefined();
  });

  it("is optional", () => {
    expect(publicUrlFaults({}, () => ({ source: "", path: "", message: "" }))).toEqual([]);
    expect(publicAddressOf({})).toBeUndefined();
  });
});
