import { expect, it } from "vitest";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import type { CheckSettings } from "../check.ts";
import { temperatureCheck } from "./temperature.ts";

const { signal } = new AbortController();
type Files = Readonly<Record<string, string>>;

const run = (files: Files, settings: Partial<CheckSettings> = {}) =>
  temperatureCheck({ hostFiles: createFakeHostFiles(files) }).run({ ignore: [], ...settings }, signal);

/** The files of a chip; of a processor that is not busy, unless others are given. */
const chip = (given: Files = {}, at = "hwmon0"): Files => {
  const processor = { name: "coretemp", temp1_label: "Package id 0", temp1_input: "45000", temp1_crit: "100000" };
  return Object.fromEntries(
    Object.entries({ ...(at === "hwmon0" && processor), ...given }).map(([file, text]) => [
      `/sys/class/hwmon/${at}/${file}`,
      /^(!|->)/.test(text) ? text : `${text}\n`,
    ]),
  );
};
const board = (celsius: number): Files => chip({ name: "acpitz", temp1_input: `${celsius}000` }, "hwmon1");

it("temperature passes below the critical temperature, warns near it, and fails at it", async () => {
  expect(await run({ ...chip({ temp1_input: "94900" }), ...board(120) })).toEqual({
    status: "pass",
    message: "All temperatures are normal: 120 °C at most (acpitz temp1)",
    details: {
      sensors: [
        { name: "coretemp Package id 0", temperature_celsius: 94.9, critical_celsius: 100 },
        { name: "acpitz temp1", temperature_celsius: 120, critical_celsius: null },
      ],
    },
  });
  expect(await run(chip({ temp1_input: "95000" }))).toMatchObject({
    status: "warn",
    message: "coretemp Package id 0 is at 95 °C (check fans and air flow)",
  });
  expect(await run(chip({ temp1_input: "100000" }))).toMatchObject({ status: "fail" });
  expect(await run(chip({ temp1_crit_alarm: "1" }))).toMatchObject({ status: "fail" });
});

it("temperature takes limits from settings, and skips without a sensor", async () => {
  expect(await run(board(60), { warn: 60, fail: 70 })).toMatchObject({ status: "warn" });
  expect(await run(board(60), { warn: 50, fail: 60 })).toMatchObject({ status: "fail" });
  const hot = { ...chip({ temp1_input: "100000" }), ...board(60) };
  expect(await run(hot, { ignore: ["coretemp *"] })).toMatchObject({ status: "pass" });
  expect(await run({})).toMatchObject({ status: "skip", message: "This host has no temperature sensor" });
});

it("temperature leaves out sensors that are not connected, and limits that none has", async () => {
  // As the drivers nvme and nct6775 have these files.
  const nvme = { name: "nvme", temp1_label: "Composite", temp1_input: "38850", temp1_crit: "65261850" };
  const unconnected = { name: "nct6798", temp3_input: "-62000", fan1_input: "900" };
  expect(await run({ ...chip(nvme, "hwmon1"), ...chip(unconnected, "hwmon2") })).toMatchObject({
    details: { sensors: [{ name: "nvme Composite", temperature_celsius: 38.85, critical_celsius: null }] },
  });
});

it("temperature names a sensor that cannot be read, by its disk where two are of one kind, and it hides no other", async () => {
  const disk = (at: number, input: string) =>
    chip({ name: "nvme", temp1_input: input, device: `-> ../../nvme${at}` }, `hwmon${at + 1}`);
  // Whatever the system refuses it with: of drivers ENXIO, EINVAL, EPERM, EBUSY or ENODEV.
  expect(await run({ ...disk(0, "45000"), ...disk(1, "!ENXIO") })).toMatchObject({
    status: "pass",
    message: "All temperatures are normal: 45 °C at most (nvme temp1 (nvme0))",
    details: { unreadable: [{ name: "nvme temp1 (nvme1)", unreadable: "ENXIO" }] },
  });
  expect(await run(disk(1, "!ENXIO"))).toMatchObject({
    status: "skip",
    message: "No temperature sensor answers: ENXIO",
  });
});
