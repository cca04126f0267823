import { expect, it } from "vitest";
import { parseThinPools } from "#adapters/lvm/index.ts";
import { lvmThinCheck } from "#domain/health/checks/lvm-thin.ts";
import { describeCases, uncovered } from "./cases.ts";

const { signal } = new AbortController();

const plain = "lvs is asked for JSON, which has values with blanks and warnings of other lines apart";
const unread = {
  "fullreport.json": "a report of everything: lvs is asked for pools alone, of which it has none",
  "fullreport-special.txt": "the same, with warnings between its lines as a log has them: they go to standard error",
  "lvs-text-no-suffix.txt": plain,
};

describeCases("lvm", ({ text, files }) => {
  const check = (file: string) => {
    const thinPools = {
      arePresent: () => Promise.resolve(true),
      list: () => Promise.resolve({ pools: parseThinPools(text(file)), complaint: "" }),
    };
    return lvmThinCheck({ thinPools }).run({ ignore: [] }, signal);
  };

  it("every file is read below or has a reason why not", () => {
    expect(uncovered(files(), { read: ["lvs-thin-pool.json"], unread })).toEqual([]);
  });

  it("lvs-thin-pool: one pool, data 78.89 % and metadata 19.25 %, below what warns", async () => {
    expect(parseThinPools(text("lvs-thin-pool.json"))).toEqual([
      { name: "cm-vg/root", sizeBytes: 214_232_465_408, dataPercent: 78.89, metadataPercent: 19.25, health: "" },
    ]);
    expect((await check("lvs-thin-pool.json")).status).toBe("pass");
  });
});
