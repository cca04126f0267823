import { configFile, type Environment } from "#config/defaults.ts";
import { type Config, loadConfig } from "#config/load.ts";
import { reservedCheckIds } from "#domain/health/registry.ts";
import { requireRootSettings } from "#root/places.ts";

/** The settings of this host for anyone who runs this process. @throws SettingsFaulty */
export const loadSettings = (environment: Environment, file?: string): Config =>
  loadConfig({ file, environment, isRoot: process.getuid?.() === 0, builtInCheckIds: reservedCheckIds });

/**
 * The settings of this host, by which root does something for a service without rights: only root may be able to change them.
 * @throws Error where somebody else can; SettingsFaulty
 */
export function loadRootSettings(environment: Environment): Config {
  const file = configFile(undefined, environment);
  if (file !== undefined) requireRootSettings(file);
  return loadSettings(environment);
}
