import { describe, expect, it } from "vitest";
import { parseTimedate } from "./index.ts";

describe("timedatectl show", () => {
  it("has the state of time synchronization", () => {
    expect(parseTimedate("CanNTP=yes\nNTP=yes\nNTPSynchronized=yes\n")).toEqual({
      canSync: true,
      isEnabled: true,
      isSynchronised: true,
    });
    const text = "TimeUSec=Thu 1970-01-01 00:00:07 UTC\nCanNTP=yes\nNTP=yes\nNTPSynchronized=no\n";
    expect(parseTimedate(text)).toEqual({ canSync: true, isEnabled: true, isSynchronised: false });
    const off = "Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=no\nNTPSynchronized=no\nTimeUSec=Sun 2026-01-04 UTC\n";
    expect(parseTimedate(off)).toEqual({ canSync: true, isEnabled: false, isSynchronised: false });
  });

  it.each([
    ...["", "Failed to connect to bus", "NTP=yes\n"],
    // Neither yes nor no is not off.
    "CanNTP=yes\nNTP=\nNTPSynchronized=yes\n",
    "CanNTP=yes\nNTP=n/a\nNTPSynchronized=yes\n",
    "CanNTP=yes\nNTP=yes\nNTPSynchronized=-1\n",
    "CanNTP=YES\nNTP=TRUE\nNTPSynchronized=1\n",
  ])("is unknown in %j", (text) => {
    expect(parseTimedate(text)).toBeUndefined();
  });
});
