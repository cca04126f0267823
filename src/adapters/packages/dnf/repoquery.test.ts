import { describe, expect, it } from "vitest";
import { parseInstalled, parseOffered } from "./repoquery.ts";

describe("answers of repoquery", () => {
  it("have what is installed, without keys", () => {
    const text =
      "app|1:1.0-1|noarch|user|11\ngpg-pubkey|0-0|(none)|unknown|0\nlib|0:2.0-1|x86_64|dependency|\nrubbish\n";
    expect(parseInstalled(text)).toEqual([
      { name: "app", version: "1:1.0-1", architecture: "noarch", reason: "user", bytes: 11 },
      { name: "lib", version: "2.0-1", architecture: "x86_64", reason: "dependency", bytes: 0 },
    ]);
    expect(parseOffered("app|2.0-1|noarch|6297|11\n")).toEqual([
      { name: "app", version: "2.0-1", architecture: "noarch", downloadBytes: 6297, bytes: 11 },
    ]);
  });
});
