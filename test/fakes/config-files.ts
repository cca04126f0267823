import type { ConfigFiles, OfferedConfig } from "#domain/ports/packages.ts";

export interface FakeConfigFiles extends ConfigFiles {
  /** What lies beside configuration files. */
  list: readonly OfferedConfig[];
}

export function createFakeConfigFiles(): FakeConfigFiles {
  const fake: FakeConfigFiles = { list: [], offered: () => Promise.resolve(fake.list) };
  return fake;
}
