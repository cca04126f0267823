import { existsSync } from "node:fs";

/** Whether this process may start systemd units: systemd runs, and others than root would be asked for a password. */
export const canStartUnits = (): boolean => existsSync("/run/systemd/system") && process.getuid?.() === 0;

/** A word as an argument of a unit, where a dollar would begin a variable (systemd.service(5)). */
export const escapeArgument = (word: string): string => word.replaceAll("$", () => "$$");
