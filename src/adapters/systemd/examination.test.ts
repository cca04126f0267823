import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseExposure, parseListening } from "./examination.ts";

describe("the exposure of systemd-analyze", () => {
  it.each([
    ["\n→ Overall exposure level for cron.service: 9.6 UNSAFE 😨\n", { score: 9.6, level: "UNSAFE" }],
    ["→ Overall exposure level for a-b@c.service: 10 DANGEROUS :-(", { score: 10, level: "DANGEROUS" }],
    ["-> Overall exposure level for x.service: 0.5 SAFE :-D", { score: 0.5, level: "SAFE" }],
    ["Unit x.service not found.", undefined],
  ])("is read from %j", (output, expected) => expect(parseExposure(output)).toEqual(expected));
});

describe("the table of ss", () => {
  it("has sockets with their cgroups, as a path and as a number", () => {
    const table = [
      "tcp LISTEN 0 511 127.0.0.1:35139 0.0.0.0:* cgroup:unreachable:d1669",
      "tcp LISTEN 0 128 [::]:22 [::]:* cgroup:/system.slice/ssh.service v6only:1",
      "udp UNCONN 0 0 127.0.0.53%lo:53 0.0.0.0:* cgroup:/system.slice/systemd-resolved.service",
      "tcp LISTEN 0 511 *:80 *:* cgroup:/system.slice/nginx.service",
      "",
    ].join("\n");
    expect(parseListening(table)).toEqual([
      { protocol: "tcp", address: "127.0.0.1", port: 35139, group: "unreachable:d1669" },
      { protocol: "tcp", address: "::", port: 22, group: "/system.slice/ssh.service" },
      { protocol: "udp", address: "127.0.0.53", port: 53, group: "/system.slice/systemd-resolved.service" },
      { protocol: "tcp", address: "::", port: 80, group: "/system.slice/nginx.service" },
    ]);
  });

  it("is read whatever it holds", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        for (const { port } of parseListening(`tcp ${a}\nudp LISTEN 0 0 ${b}`))
          expect(Number.isInteger(port)).toBe(true);
      }),
    );
  });
});
