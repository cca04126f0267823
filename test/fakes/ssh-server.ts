import type { SshConfig, SshServer } from "#domain/ports/network.ts";

const unasked: SshConfig = { is: "unknown", reason: "it was not asked" };

/** A server that says this of itself, and of connections from elsewhere; undefined stands for a host without one. */
export const createFakeSshServer = (config?: SshConfig, elsewhere = config ?? unasked): SshServer => ({
  config: () => Promise.resolve(config),
  fromElsewhere: () => Promise.resolve(elsewhere),
});
