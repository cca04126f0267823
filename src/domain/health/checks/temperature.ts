import type { HostFiles } from "#domain/ports/host-files.ts";
import { errnoCode, errorMessage, isNotFound, orUndefined } from "#kernel/errors.ts";
import { type BuiltInCheck, type CheckSettings, createIgnore, skip } from "../check.ts";
import { combineFindings, createGrader, type Finding, type Grader, inUnit } from "../grading.ts";

/** Beyond these, a sensor that is not connected is speaking. */
const [lowestCelsius, highestCelsius] = [-40, 150];
/** Chips without a limit of their own report 0, or the greatest number that they have. */
const [lowestLimit, highestLimit] = [40, 130];

/** A temperature sensor of the kernel's hwmon. */
interface Sensor {
  /** Chip and label: `coretemp Package id 0`; each has a name of its own. */
  readonly name: string;
  readonly celsius: number;
  /** At which the hardware protects itself; null where it does not say, or nothing that can be. */
  readonly criticalCelsius: number | null;
  /** Whether the hardware itself says that it is reached. */
  readonly isAlarming: boolean;
}

/** A sensor that does not answer: asleep, not connected, or one whose driver refuses. */
interface UnreadableSensor {
  readonly name: string;
  /** The code of the system's refusal, `ENXIO`. */
  readonly unreadable: string;
}

type Found = Sensor | UnreadableSensor;

const root = "/sys/class/hwmon";

/** All sensors, in the kernel's Documentation/hwmon/sysfs-interface.rst. None on machines without, such as virtual ones. */
async function sensorsIn(files: HostFiles): Promise<readonly Found[]> {
  /** Drivers refuse single files with whatever code they like, and others of the same chip not. */
  const read = (...path: readonly string[]): Promise<string | undefined> =>
    orUndefined(files.text([root, ...path].join("/")), () => true);

  const sensor = async (chip: string, chipName: string, prefix: string): Promise<readonly Found[]> => {
    const of = async (what: string): Promise<number> => Number((await read(chip, `${prefix}_${what}`)) ?? Number.NaN);
    const name = `${chipName} ${((await read(chip, `${prefix}_label`)) ?? prefix).trim()}`;
    let input: string;
    try {
      input = await files.text(`${root}/${chip}/${prefix}_input`);
    } catch (error) {
      // Removed meanwhile.
      return isNotFound(error) ? [] : [{ name, unreadable: errnoCode(error) ?? errorMessage(error) }];
    }
    const [critical, alarm] = await Promise.all([of("crit"), of("crit_alarm")]);
    const [celsius, limit] = [Number(input) / 1000, critical / 1000];
    if (!(celsius > lowestCelsius && celsius < highestCelsius)) return [];
    const criticalCelsius = limit >= lowestLimit && limit <= highestLimit ? limit : null;
    return [{ name, celsius, criticalCelsius, isAlarming: alarm === 1 }];
  };

  const chipSensors = async (chip: string) => {
    const name = ((await read(chip, "name")) ?? chip).trim();
    const inputs = ((await orUndefined(files.names(`${root}/${chip}`))) ?? []).flatMap(
      (file) => /^(temp\d+)_input$/.exec(file)?.[1] ?? [],
    );
    const device = (await orUndefined(files.target(`${root}/${chip}/device`), () => true)) ?? chip;
    const sensors = await Promise.all(inputs.toSorted().map((prefix) => sensor(chip, name, prefix)));
    return { device: device.split("/").at(-1) ?? chip, sensors: sensors.flat() };
  };

  const chips = await Promise.all(((await orUndefined(files.names(root))) ?? []).map(chipSensors));
  const all = chips.flatMap(({ sensors }) => sensors.map(({ name }) => name));
  // Two disks of one kind, or two processors, have chips of one name.
  const isShared = (name: string): boolean => all.indexOf(name) !== all.lastIndexOf(name);
  return chips.flatMap(({ device, sensors }) =>
    sensors.map((each) => (isShared(each.name) ? { ...each, name: `${each.name} (${device})` } : each)),
  );
}

/** So near to its limit a processor slows down already. */
const nearCelsius = 5;
const mostListed = 50;
const never = Number.POSITIVE_INFINITY;

function judge(
  { name, celsius, criticalCelsius, isAlarming }: Sensor,
  settings: CheckSettings,
  { grade }: Grader,
): Finding {
  const critical = criticalCelsius ?? never;
  const problem = `${name} is at ${celsius} °C (check fans and air flow)`;
  const thresholds = { warn: settings.warn ?? critical - nearCelsius, fail: settings.fail ?? critical };
  return { status: isAlarming ? "fail" : grade(celsius, thresholds, name), problem };
}

export const temperatureCheck = (ports: { hostFiles: HostFiles }): BuiltInCheck => ({
  id: "temperature",
  name: "Temperature",
  category: "system",
  severity: "high",
  about:
    "Sensors of processors, boards and disks. Fails at the temperature that the hardware calls critical, and warns " +
    "5 °C below; `warn` and `fail` are °C for all sensors in place of that, also for those without a limit of " +
    "their own. `ignore` takes names of sensors, and patterns, such as `nvme *`.",
  meaning: "A hardware component is near its temperature limit: it slows down, and may switch off or fail.",
  remedy: "Check the fans, remove dust, and check the room temperature.",
  intervalMs: 2 * 60_000,
  async run(settings) {
    const isIgnored = createIgnore(settings.ignore);
    const found = (await sensorsIn(ports.hostFiles)).filter(({ name }) => !isIgnored(name));
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
