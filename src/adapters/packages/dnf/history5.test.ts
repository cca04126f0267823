import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHistory, parseTransactions } from "./history5.ts";

const nobody = (): undefined => undefined;

describe("the history of dnf5", () => {
  it("has what became of each package", () => {
    const text = JSON.stringify([
      {
        id: 7,
        start_time: 1000,
        end_time: 1001,
        user_id: 1000,
        status: "Ok",
        description: "dnf5 upgrade",
        comment: "",
        packages: [
          { nevra: "app-0:2.0-1.noarch", action: "Upgrade", reason: "User" },
          { nevra: "app-0:1.0-1.noarch", action: "Replaced", reason: "User" },
          { nevra: "extra-1:1.0-1.noarch", action: "Install", reason: "Weak Dependency" },
          { nevra: "lib-0:1.0-1.noarch", action: "Reason Change", reason: "User" },
          { nevra: "lib-0:1.0-1.noarch", action: "toString", reason: "User" },
          { nevra: "no package", action: "Install", reason: "User" },
        ],
      },
      { id: 6, start_time: 900, end_time: 0, status: "Error", comment: "" },
      { id: 5, start_time: 800, end_time: 800, status: "Started" },
      { id: 4 },
    ]);
    const found = parseTransactions(text, (uid) => `user ${String(uid)}`);
    expect([...found.keys()]).toEqual([7, 6, 5]);
    expect(found.get(7)).toEqual({
      startedAt: 1_000_000,
      endedAt: 1_001_000,
      commandLine: "dnf5 upgrade",
      requestedBy: "user 1000",
      error: undefined,
      packages: [
        { name: "app", architecture: "noarch", action: "upgrade", from: "1.0-1", to: "2.0-1", isAutomatic: false },
        { name: "extra", architecture: "noarch", action: "install", from: undefined, to: "1:1.0-1", isAutomatic: true },
      ],
    });
    expect(found.get(6)).toMatchObject({ error: "Error", endedAt: undefined, commandLine: "" });
    expect(found.get(5)).toMatchObject({ error: undefined, endedAt: undefined });
  });

  it("may be any text", () => {
    fc.assert(fc.property(fc.string(), (text) => void parseTransactions(text, nobody)));
    fc.assert(fc.property(fc.json(), (text) => void parseTransactions(`[${text}]`, nobody)));
  });

  it("is asked for a page at a time, as far as it is wanted", async () => {
    const asked: string[] = [];
    const about = (words: readonly string[]): Promise<string> => {
      asked.push(words.join(" "));
      const ids = words.includes("list") ? Array.from({ length: 60 }, (_, at) => 60 - at) : words.map(Number);
      const known = ids.filter((id) => id > 0);
      return Promise.resolve(JSON.stringify(known.map((id) => ({ id, start_time: id, status: "Ok" }))));
    };
    const history = createHistory({ about, users: "/nowhere" });
    const found: number[] = [];
    for await (const { startedAt } of history(new AbortController().signal)) {
      found.push(startedAt / 1000);
      if (found.length === 30) break;
    }
    expect(found).toEqual(Array.from({ length: 30 }, (_, at) => 60 - at));
    expect(asked.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(["list", "info 60", "info 35"]);
  });
});
