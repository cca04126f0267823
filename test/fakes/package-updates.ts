import type { PackageUpdates, SecurityUpdate } from "#domain/ports/packages.ts";

/** An update of a package that is not held, but for what is said. */
export const fakeSecurityUpdate = (changes: Partial<SecurityUpdate> = {}): SecurityUpdate => ({
  name: "openssl",
  architecture: "amd64",
  installed: "3.0.1",
  candidate: "3.0.2",
  suites: ["stable-security"],
  isHeld: false,
  ...changes,
});

/** Lists that offer these updates; without any, a host without a package manager. */
export const createFakePackageUpdates = (
  updates?: readonly SecurityUpdate[],
  refreshedAt?: number,
): PackageUpdates => ({
  security: () => Promise.resolve(updates),
  refreshedAt: () => Promise.resolve(refreshedAt),
});
