import { symlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { temperatureCheck } from "#domain/health/checks/temperature.ts";
import { directoryPerTest } from "../ports/support/directories.ts";
import { describeCases, uncovered } from "./cases.ts";

const { signal } = new AbortController();

const unread = {
  "linuxfabrik-coolermaster-real-capture.json": "the files of the kernel are read, from which psutil makes this",
};

describeCases("hwmon", ({ path, files }) => {
  it("every file is read below or has a reason why not", () => {
    const read = ["node-exporter/", "procfs-nvme/", "telegraf-general/", "telegraf-with_name/"];
    expect(uncovered(files(), { read, unread })).toEqual([]);
  });

  const dir = directoryPerTest();
  const check = (tree: string) => {
    symlinkSync(path(tree), dir("sys"));
    return temperatureCheck({ hostFiles: createHostFiles(dir()) }).run({ ignore: [] }, signal);
  };
  /** Of sensors that alarm the check fails. */
  const sensors = async (tree: string) => {
    const { status, details } = await check(tree);
    expect([status, details["unreadable"]]).toEqual(["pass", undefined]);
    const found = details["sensors"] as readonly Readonly<Record<string, unknown>>[];
    return found.map((each) => [each["name"], each["temperature_celsius"], each["critical_celsius"]]);
  };

  it("coretemp of a server: package and cores, critical at 100 °C, no alarm, no fault", async () => {
    const found = await sensors("node-exporter");
    expect(found).toContainEqual(["coretemp Physical id 0", 55, 100]);
    for (const [name, celsius, critical] of found.filter(([each]) => String(each).includes("Core")))
      expect([name, Number(celsius) >= 50 && Number(celsius) <= 54, critical]).toEqual([name, true, 100]);
  });

  it("one NVMe: its Composite sensor and critical temperature, no alarm, no fault", async () => {
    expect(await sensors("procfs-nvme")).toContainEqual(["nvme Composite", 43.85, 94.85]);
  });

  it("a desktop: the greatest number of a driver is no limit", async () => {
    const found = await sensors("telegraf-general");
    const names = found.map(([name]) => name);
    expect(names).toEqual(["nvme Composite", "nvme Sensor 1", "nvme Sensor 2", "k10temp Tctl", "k10temp Tccd1"]);
    expect(found.filter(([name]) => String(name).startsWith("nvme Sensor")).map(([, , critical]) => critical)).toEqual([
      null,
      null,
    ]);
  });

  it("two NVMe of one name: each sensor has a name of its own", async () => {
    const names = (await sensors("telegraf-with_name")).map(([name]) => name);
    expect(names).toHaveLength(8);
    expect(new Set(names).size).toBe(8);
  });
});
