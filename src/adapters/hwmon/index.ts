import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { TemperatureSensor, Temperatures, UnreadableSensor } from "#domain/ports/kernel.ts";
import { errnoCode, errorMessage, isNotFound, orUndefined } from "#kernel/errors.ts";

/** Beyond these, a sensor that is not connected is speaking. */
const [coldest, hottest] = [-40, 150];
/** Chips without a limit of their own report 0, or the greatest number that they have. */
const [lowestLimit, highestLimit] = [40, 130];

type Sensor = TemperatureSensor | UnreadableSensor;

/** In the kernel's Documentation/hwmon/sysfs-interface.rst. */
export function createTemperatures(ports: { sysDir?: string } = {}): Temperatures {
  const root = join(ports.sysDir ?? "/sys", "class/hwmon");
  /** Drivers refuse single files with whatever code they like, and others of the same chip not. */
  const read = (...path: readonly string[]): Promise<string | undefined> =>
    orUndefined(readFile(join(root, ...path), "utf8"), () => true);

  const sensor = async (chip: string, chipName: string, prefix: string): Promise<readonly Sensor[]> => {
    const of = async (what: string): Promise<number> => Number((await read(chip, `${prefix}_${what}`)) ?? Number.NaN);
    const name = `${chipName} ${((await read(chip, `${prefix}_label`)) ?? prefix).trim()}`;
    let input: string;
    try {
      input = await readFile(join(root, chip, `${prefix}_input`), "utf8");
    } catch (error) {
      // Removed meanwhile.
      return isNotFound(error) ? [] : [{ name, unreadable: errnoCode(error) ?? errorMessage(error) }];
    }
    const [critical, alarm] = await Promise.all([of("crit"), of("crit_alarm")]);
    const [celsius, limit] = [Number(input) / 1000, critical / 1000];
    if (!(celsius > coldest && celsius < hottest)) return [];
    const criticalCelsius = limit >= lowestLimit && limit <= highestLimit ? limit : null;
    return [{ name, celsius, criticalCelsius, isAlarming: alarm === 1 }];
  };

  const sensorsOf = async (chip: string) => {
    const name = ((await read(chip, "name")) ?? chip).trim();
    const inputs = ((await orUndefined(readdir(join(root, chip)))) ?? []).flatMap(
      (file) => /^(temp\d+)_input$/.exec(file)?.[1] ?? [],
    );
    const device = (await orUndefined(readlink(join(root, chip, "device")), () => true)) ?? chip;
    const sensors = await Promise.all(inputs.toSorted().map((prefix) => sensor(chip, name, prefix)));
    return { device: basename(device), sensors: sensors.flat() };
  };

  return {
    async list() {
      const names = (await orUndefined(readdir(root))) ?? [];
      const chips = await Promise.all(names.toSorted().map(sensorsOf));
      const all = chips.flatMap(({ sensors }) => sensors.map(({ name }) => name));
      // Two disks of one kind, or two processors, have chips of one name.
      const isShared = (name: string): boolean => all.indexOf(name) !== all.lastIndexOf(name);
      return chips.flatMap(({ device, sensors }) =>
        sensors.map((each) => (isShared(each.name) ? { ...each, name: `${each.name} (${device})` } : each)),
      );
    },
  };
}
