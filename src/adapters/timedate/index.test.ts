import { describe, expect, it } from "vitest";
import { parseTimedate } from "./index.ts";

describe("timedatectl show", () => {
  it("reports a host in order", () => {
    expect(parseTimedate("CanNTP=yes\nNTP=yes\nNTPSynchronized=yes\n")).toEqual({
      canSync: true,
      isEnabled: true,
      isSynchronised: true,
    });
  });

  it("reports one that is switched off, among other properties", () => {
    const text = "Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=no\nNTPSynchronized=no\nTimeUSec=Sun 2026-01-04 UTC\n";
    expect(parseTimedate(text)).toEqual({ canSync: true, isEnabled: false, isSynchronised: false });
  });

  it.each(["", "Failed to connect to bus", "NTP=yes\n"])("tells nothing in %j", (text) => {
    expect(parseTimedate(text)).toBeUndefined();
  });
});
