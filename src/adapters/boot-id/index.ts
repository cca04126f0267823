import { readFileSync } from "node:fs";

/** What systemd tells a unit that asks for it (`Environment=STEWARD_BOOT_ID=%b`). */
const bootVariable = "STEWARD_BOOT_ID";

const kernelFile = "/proc/sys/kernel/random/boot_id";

/**
 * The id of this boot: 32 hexadecimal digits, as the journal and systemd write it (sd-id128(3)). As systemd counts boots, where it
 * tells: in a container the kernel's own file is covered by one for that container, which units with `ProtectKernelTunables=` do
 * not see.
 */
export const readBootId = (told = process.env[bootVariable]): string =>
  (told ?? readFileSync(kernelFile, "latin1")).trim().replaceAll("-", "");
