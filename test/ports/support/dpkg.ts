import type { DpkgEntry } from "#adapters/packages/apt/database.ts";
import type { Offer } from "#adapters/packages/apt/offers.ts";

/** What dpkg says of an installed package. */
export const dpkgEntry = (name: string, rest: Partial<DpkgEntry> = {}): DpkgEntry => ({
  name,
  version: "1.0",
  architecture: "amd64",
  isMultiArchSame: false,
  want: "install",
  flag: "ok",
  state: "installed",
  ...rest,
});

/** What apt offers for an installed package. */
export const aptOffer = (name: string, rest: Partial<Offer> = {}): Offer => ({
  entry: dpkgEntry(name),
  candidate: "1.1",
  suites: [],
  securityVersion: null,
  ...rest,
});
