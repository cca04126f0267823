import type { TemperatureSensor, Temperatures } from "#domain/ports/kernel.ts";
import { type Check, type CheckSettings, createIgnore, skip } from "../check.ts";
import { combineFindings, createGrader, type Finding, type Grader, inUnit } from "../grading.ts";

/** So near to its limit a processor slows down already. */
const nearCelsius = 5;
const mostListed = 50;
const never = Number.POSITIVE_INFINITY;

function judge(
  { name, celsius, criticalCelsius, isAlarming }: TemperatureSensor,
  settings: CheckSettings,
  { grade }: Grader,
): Finding {
  const critical = criticalCelsius ?? never;
  const problem = `${name} is at ${celsius} °C (check fans and air flow)`;
  const thresholds = { warn: settings.warn ?? critical - nearCelsius, fail: settings.fail ?? critical };
  return { status: isAlarming ? "fail" : grade(celsius, thresholds, name), problem };
}

/**
 * Sensors of processors, boards and disks. Fails at the temperature that the hardware calls critical, and warns 5 °C below; `warn` and
 * `fail` are °C for all sensors in place of that, also for those without a limit of their own. `ignore` takes names of sensors, and
 * patterns, such as `nvme *`.
 */
export const temperatureCheck = (ports: { temperatures: Temperatures }): Check => ({
  id: "temperature",
  name: "Temperature",
  category: "system",
  severity: "high",
  intervalMs: 2 * 60_000,
  async run(settings) {
    const isIgnored = createIgnore(settings.ignore);
    const found = (await ports.temperatures.list()).filter(({ name }) => !isIgnored(name));
    if (found.length === 0) return skip("This host has no temperature sensor");
    const sensors = found.filter((each) => "celsius" in each);
    const unreadable = found.filter((each) => "unreadable" in each);
    const unread = { ...(unreadable.length > 0 && { unreadable: unreadable.slice(0, mostListed) }) };
    if (sensors.length === 0) return skip(`No temperature sensor answers: ${unreadable[0]?.unreadable ?? ""}`, unread);
    const hottest = sensors.reduce((a, b) => (b.celsius > a.celsius ? b : a));
    const grader = createGrader(settings, inUnit("°C"));
    const outcome = combineFindings(
      sensors.map((sensor) => judge(sensor, settings, grader)),
      `All temperatures are normal: ${hottest.celsius} °C at most (${hottest.name})`,
      {
        sensors: sensors.slice(0, mostListed).map(({ name, celsius, criticalCelsius }) => ({
          name,
          temperature_celsius: celsius,
          critical_celsius: criticalCelsius,
        })),
        ...unread,
      },
    );
    return grader.finish(outcome);
  },
});
