import { expect, it } from "vitest";
import { parseMdstat } from "#adapters/procfs/raid-arrays.ts";
import { raidStatusCheck } from "#domain/health/checks/raid-status.ts";
import { describeCases, uncovered } from "./cases.ts";

const { signal } = new AbortController();

describeCases("mdstat", ({ text, files }) => {
  const arrays = (file: string) => parseMdstat(text(file));
  const check = (file: string, ignore: readonly string[] = []) =>
    raidStatusCheck({ raidArrays: { list: () => Promise.resolve(arrays(file)) } }).run({ ignore: [...ignore] }, signal);

  it("every file is read below", () => {
    const read = ["cciss-md_d0", "imsm-container-inactive", "no-arrays", "node-exporter-many-arrays"];
    expect(uncovered(files(), { read, unread: {} })).toEqual([]);
  });

  it("names with a slash and with an underscore belong to the line of the array, which is whole", async () => {
    expect(arrays("cciss-md_d0")).toEqual([
      { name: "md_d0", level: "raid5", isActive: true, devices: 5, workingDevices: 5, rebuildPercent: null },
    ]);
    expect((await check("cciss-md_d0")).status).toBe("pass");
  });

  it("the container of a firmware RAID alone is no array", async () => {
    expect(arrays("imsm-container-inactive")).toEqual([]);
    expect((await check("imsm-container-inactive")).status).toBe("skip");
  });

  it("without an array there is nothing to report", async () => {
    expect(arrays("no-arrays")).toEqual([]);
    expect((await check("no-arrays")).status).toBe("skip");
  });

  it("of many arrays those that lost a device, are rebuilt or do not run are told from those that are whole", async () => {
    const all = arrays("node-exporter-many-arrays");
    const named = (name: string) => all.find((each) => each.name === name);
    expect(named("md6")).toMatchObject({ devices: 2, workingDevices: 1, rebuildPercent: 8.5 });
    expect(named("md7")).toMatchObject({ devices: 4, workingDevices: 3, rebuildPercent: null });
    expect(named("md4")).toMatchObject({ isActive: false });
    expect(named("md219")).toBeUndefined();
    expect(named("md8")).toMatchObject({ devices: 2, workingDevices: 2, rebuildPercent: 8.5 });
    expect(named("md201")).toMatchObject({ devices: 2, workingDevices: 2, rebuildPercent: null });
    expect(named("md9")).toMatchObject({ devices: 4, workingDevices: 4, rebuildPercent: 0 });
    expect(named("md11")).toMatchObject({ devices: 2, workingDevices: 2, rebuildPercent: null });
    const outcome = await check("node-exporter-many-arrays");
    expect(outcome.status).toBe("fail");
    const troubled = ["md4", "md6", "md7", "md8", "md9"];
    for (const { name } of all)
      expect([name, outcome.message.includes(`${name} `)]).toEqual([name, troubled.includes(name)]);
    expect((await check("node-exporter-many-arrays", troubled)).status).toBe("pass");
  });
});
