import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createTemperatures } from "#adapters/hwmon/index.ts";
import type { Temperatures } from "#domain/ports/temperatures.ts";
import { createFakeTemperatures, fakeSensor } from "../fakes/temperatures.ts";

const sysDir = mkdtempSync(join(tmpdir(), "steward-hwmon-"));
afterAll(() => rmSync(sysDir, { recursive: true }));

// As the drivers coretemp, nvme and nct6775 have these files.
const files: Readonly<Record<string, string>> = {
  "hwmon0/name": "coretemp\n",
  "hwmon0/temp1_label": "Package id 0\n",
  "hwmon0/temp1_input": "45000\n",
  "hwmon0/temp1_crit": "100000\n",
  "hwmon0/temp1_crit_alarm": "0\n",
  "hwmon1/name": "nvme\n",
  "hwmon1/temp1_label": "Composite\n",
  "hwmon1/temp1_input": "84850\n",
  "hwmon1/temp1_crit": "84850\n",
  "hwmon1/temp1_crit_alarm": "1\n",
  "hwmon1/temp2_input": "38850\n",
  "hwmon1/temp2_crit": "65261850\n",
  "hwmon2/name": "nct6798\n",
  "hwmon2/temp3_input": "-62000\n",
  "hwmon2/fan1_input": "900\n",
};
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(sysDir, "class/hwmon", path)), { recursive: true });
  writeFileSync(join(sysDir, "class/hwmon", path), text);
}

const sensors = [
  fakeSensor(),
  fakeSensor({ name: "nvme Composite", celsius: 84.85, criticalCelsius: 84.85, isAlarming: true }),
  fakeSensor({ name: "nvme temp2", celsius: 38.85, criticalCelsius: null }),
];

describe.each([
  ["fake", createFakeTemperatures(sensors), createFakeTemperatures()],
  ["hwmon", createTemperatures({ sysDir }), createTemperatures({ sysDir: "/nonexistent" })],
] as const)("temperatures: %s", (_, present: Temperatures, absent: Temperatures) => {
  it("are those of all sensors that are connected", async () => {
    expect(await present.list()).toEqual(sensors);
  });

  it("are none without a sensor", async () => {
    expect(await absent.list()).toEqual([]);
  });
});
