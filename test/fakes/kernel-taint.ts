import type { KernelTaint } from "#domain/ports/kernel.ts";

export const createFakeKernelTaint = (flags = 0): KernelTaint => ({ flags: () => Promise.resolve(flags) });
