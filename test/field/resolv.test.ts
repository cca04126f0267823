import { expect, it } from "vitest";
import { parseNameServers } from "#adapters/resolver/index.ts";
import { describeCases, uncovered } from "./cases.ts";

/** The name servers in their order; what else is in it is the business of the resolver. */
const servers: Readonly<Record<string, readonly string[]>> = {
  "insights-resolvconf": ["10.160.224.51", "10.160.225.51", "10.61.193.11"],
  "jc-2": ["10.136.17.15"],
  // 0.0.0.0 is this host.
  "jc-3": ["0.0.0.0", "192.0.2.30"],
  "jc-4": ["10.1.1.2", "10.1.1.1"],
};

describeCases("resolv", ({ text, files }) => {
  it("every file is read below", () => {
    expect(uncovered(files(), { read: Object.keys(servers), unread: {} })).toEqual([]);
  });

  it.each(Object.entries(servers))("%s: name servers in their order", (file, expected) => {
    expect(parseNameServers(text(file))).toEqual(expected);
  });
});
