/** The kernel's table of connections, of the network namespace of the service. */
export interface Conntrack {
  /** Undefined where the kernel does not track connections, or does not say how many it may. */
  readonly usage: () => Promise<{ readonly entries: number; readonly maximum: number } | undefined>;
}
