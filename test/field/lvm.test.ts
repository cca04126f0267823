import { expect, it } from "vitest";
import { lvmThinCheck } from "#domain/health/checks/lvm-thin.ts";
import { createFakeHostFiles } from "../fakes/host-files.ts";
import { printing } from "../ports/support/programs.ts";
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
    const hostFiles = createFakeHostFiles({ "/sys/block/dm-0/dm/uuid": "LVM-abc-tpool\n" });
    return lvmThinCheck({ hostFiles, exec: printing(text(file)) }).run({ ignore: [] }, signal);
  };

  it("every file is read below or has a reason why not", () => {
    expect(uncovered(files(), { read: ["lvs-thin-pool.json"], unread })).toEqual([]);
  });

  it("lvs-thin-pool: one pool, data 78.89 % and metadata 19.25 %, below what warns", async () => {
    const { status, details } = await check("lvs-thin-pool.json");
    expect([status, details["pools"]]).toEqual([
      "pass",
      [{ name: "cm-vg/root", size_gb: 214.2, data_percent: 78.89, metadata_percent: 19.25, health: "healthy" }],
    ]);
  });
});
