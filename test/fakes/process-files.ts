import type { ProcessFiles, ProcessFilesUse } from "#domain/ports/kernel.ts";

/** Given in the order in which they are to be found. */
export const createFakeProcessFiles = (processes: readonly ProcessFilesUse[] = []): ProcessFiles => ({
  busiest: (most) => Promise.resolve(processes.slice(0, most)),
});
