import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TemperatureSensor, Temperatures } from "#domain/ports/temperatures.ts";
import { errnoCode, isDeviceGone, orUndefined } from "#kernel/errors.ts";

/** Beyond these, a sensor that is not connected is speaking. */
const [coldest, hottest] = [-40, 150];
/** Chips without a limit of their own report 0, or the greatest number that they have. */
const [lowestLimit, highestLimit] = [40, 130];

/** What a sensor says that is asleep or not connected. */
const silent = ["EIO", "ENODATA", "EAGAIN", "ETIMEDOUT", "EOPNOTSUPP"];
const isSilent = (error: unknown): boolean => isDeviceGone(error) || silent.includes(errnoCode(error) ?? "");

/** In the kernel's Documentation/hwmon/sysfs-interface.rst. */
export function createTemperatures(ports: { sysDir?: string } = {}): Temperatures {
  const root = join(ports.sysDir ?? "/sys", "class/hwmon");
  const read = (...path: readonly string[]): Promise<string | undefined> =>
    orUndefined(readFile(join(root, ...path), "utf8"), isSilent);

  const sensor = async (chip: string, name: string, prefix: string): Promise<readonly TemperatureSensor[]> => {
    const of = async (what: string): Promise<number> => Number((await read(chip, `${prefix}_${what}`)) ?? Number.NaN);
    const [input, critical, alarm] = await Promise.all([of("input"), of("crit"), of("crit_alarm")]);
    const [celsius, limit] = [input / 1000, critical / 1000];
    if (!(celsius > coldest && celsius < hottest)) return [];
    const label = ((await read(chip, `${prefix}_label`)) ?? prefix).trim();
    const criticalCelsius = limit >= lowestLimit && limit <= highestLimit ? limit : null;
    return [{ name: `${name} ${label}`, celsius, criticalCelsius, isAlarming: alarm === 1 }];
  };

  const sensorsOf = async (chip: string): Promise<readonly TemperatureSensor[]> => {
    const name = ((await read(chip, "name")) ?? chip).trim();
    const inputs = ((await orUndefined(readdir(join(root, chip)))) ?? []).flatMap(
      (file) => /^(temp\d+)_input$/.exec(file)?.[1] ?? [],
    );
    return (await Promise.all(inputs.toSorted().map((prefix) => sensor(chip, name, prefix)))).flat();
  };

  return {
    async list() {
      const chips = (await orUndefined(readdir(root))) ?? [];
      return (await Promise.all(chips.toSorted().map(sensorsOf))).flat();
    },
  };
}
