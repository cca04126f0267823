import { expect, it } from "vitest";
import { createFakeTemperatures, fakeSensor } from "../../../../test/fakes/temperatures.ts";
import type { CheckSettings } from "../check.ts";
import { temperatureCheck } from "./temperature.ts";

const { signal } = new AbortController();
const run = (sensors: Parameters<typeof createFakeTemperatures>[0], settings: Partial<CheckSettings> = {}) =>
  temperatureCheck({ temperatures: createFakeTemperatures(sensors) }).run({ ignore: [], ...settings }, signal);

it("temperature passes below the critical temperature, warns near it, and fails at it", async () => {
  const board = fakeSensor({ name: "acpitz temp1", celsius: 120, criticalCelsius: null });
  expect(await run([fakeSensor({ celsius: 94.9 }), board])).toEqual({
    status: "pass",
    message: "All temperatures are normal: 120 °C at most (acpitz temp1)",
    details: {
      sensors: [
        { name: "coretemp Package id 0", temperature_celsius: 94.9, critical_celsius: 100 },
        { name: "acpitz temp1", temperature_celsius: 120, critical_celsius: null },
      ],
    },
  });
  expect(await run([fakeSensor({ celsius: 95 })])).toMatchObject({
    status: "warn",
    message: "coretemp Package id 0 is at 95 °C (check fans and air flow)",
  });
  expect(await run([fakeSensor({ celsius: 100 })])).toMatchObject({ status: "fail" });
  expect(await run([fakeSensor({ isAlarming: true })])).toMatchObject({ status: "fail" });
});

it("temperature takes limits from settings, and skips without a sensor", async () => {
  const board = fakeSensor({ name: "acpitz temp1", celsius: 60, criticalCelsius: null });
  expect(await run([board], { warn: 60, fail: 70 })).toMatchObject({ status: "warn" });
  expect(await run([board], { warn: 50, fail: 60 })).toMatchObject({ status: "fail" });
  expect(await run([fakeSensor({ celsius: 100 }), board], { ignore: ["coretemp *"] })).toMatchObject({
    status: "pass",
  });
  expect(await run([])).toMatchObject({ status: "skip", message: "This host has no temperature sensor" });
});
