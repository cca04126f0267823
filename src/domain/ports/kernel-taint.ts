/** What the kernel remembers of its trouble until the next boot. */
export interface KernelTaint {
  /** A bit for each reason, in the kernel's Documentation/admin-guide/tainted-kernels.rst. */
  readonly flags: () => Promise<number>;
}
