import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KernelTaint } from "#domain/ports/kernel.ts";

export const createKernelTaint = (ports: { procDir?: string } = {}): KernelTaint => ({
  flags: async () => Number(await readFile(join(ports.procDir ?? "/proc", "sys/kernel/tainted"), "latin1")),
});
