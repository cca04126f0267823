import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { temperatureCheck } from "#domain/health/checks/temperature.ts";
import { createTemperatures } from "./index.ts";

const sysDir = mkdtempSync(join(tmpdir(), "steward-hwmon-"));
afterAll(() => rmSync(sysDir, { recursive: true }));

const chip = (name: string, device: string): string => {
  const folder = join(sysDir, "class/hwmon", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "name"), "nvme\n");
  symlinkSync(`../../${device}`, join(folder, "device"));
  return folder;
};

it("a temperature sensor that cannot be read is named, and hides no other", async () => {
  writeFileSync(join(chip("hwmon0", "nvme0"), "temp1_input"), "45000\n");
  // Whatever the system refuses it with: here EISDIR, of drivers ENXIO, EINVAL, EPERM, EBUSY or ENODEV.
  mkdirSync(join(chip("hwmon1", "nvme1"), "temp1_input"));
  const outcome = await temperatureCheck({ temperatures: createTemperatures({ sysDir }) }).run(
    { ignore: [] },
    new AbortController().signal,
  );
  expect(outcome).toMatchObject({
    status: "pass",
    message: "All temperatures are normal: 45 °C at most (nvme temp1 (nvme0))",
    details: { unreadable: [{ name: "nvme temp1 (nvme1)", unreadable: "EISDIR" }] },
  });
});
