import type { SshConfig, SshServer } from "#domain/ports/network.ts";

/** A server that says this of itself; undefined stands for a host without one. */
export const createFakeSshServer = (config?: SshConfig): SshServer => ({ config: () => Promise.resolve(config) });
