import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pressure, ResourcePressure, Stall } from "#domain/ports/kernel.ts";
import { errnoCode, isNotFound, orUndefined } from "#kernel/errors.ts";

const resources = ["cpu", "memory", "io"] as const;

/** Kernels booted with `psi=0` have the files and answer with an error. */
const isWithout = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "EOPNOTSUPP";

function parseStall(text: string, kind: "some" | "full"): Stall | null {
  const pattern = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+)`, "m");
  const [, avg10, avg60, avg300] = pattern.exec(text) ?? [];
  return avg10 === undefined ? null : { avg10: Number(avg10), avg60: Number(avg60), avg300: Number(avg300) };
}

/** /proc/pressure, in the kernel's Documentation/accounting/psi.rst. */
export function createPressure(ports: { procDir?: string } = {}): Pressure {
  const { procDir = "/proc" } = ports;

  const readOne = async (resource: ResourcePressure["resource"]): Promise<readonly ResourcePressure[]> => {
    const text = await orUndefined(readFile(join(procDir, "pressure", resource), "utf8"), isWithout);
    const some = text === undefined ? null : parseStall(text, "some");
    return text === undefined || some === null ? [] : [{ resource, some, full: parseStall(text, "full") }];
  };

  return {
    async read() {
      const found = (await Promise.all(resources.map(readOne))).flat();
      return found.length === 0 ? undefined : found;
    },
  };
}
