import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import type { Session } from "./session.ts";
import { sameAsSystemctl } from "./systemctl.ts";

export const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];
export const backAgainMs = 20_000;

/** What tests of a system bus that goes and comes back share. */
export const busOf = (session: Session) => ({
  systemctl: (...words: readonly string[]) => session.host.exec(["systemctl", ...words]),
  /** Waits until the service has the bus, and lists what systemctl lists. */
  backAgain: async (): Promise<void> => {
    await eventually(async () => {
      expect(await session.api.getHealth()).toMatchObject({ components: { ops: true } });
    }, backAgainMs);
    await sameAsSystemctl(session, backAgainMs);
  },
});
