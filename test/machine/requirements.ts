import { requireHost } from "../host/requirements.ts";

/**
 * Whether a machine can be emulated here.
 * @throws in CI (`CI=true`), where skipping would go unnoticed.
 */
export function requireMachine(env: NodeJS.ProcessEnv = process.env): ReturnType<typeof requireHost> {
  if (process.arch !== "x64")
    return { available: false, reason: `its kernel is one for x64 (this is ${process.arch})` };
  return requireHost(env, {
    "qemu-system-x86_64": "qemu-system-x86",
    ssh: "openssh-client",
    "ssh-keygen": "openssh-client",
  });
}
