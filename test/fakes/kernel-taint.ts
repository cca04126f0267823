import type { KernelTaint } from "#domain/ports/kernel-taint.ts";

export const createFakeKernelTaint = (flags = 0): KernelTaint => ({ flags: () => Promise.resolve(flags) });
