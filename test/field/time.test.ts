import { expect, it } from "vitest";
import { parseTimedate } from "#adapters/timedate/index.ts";
import { parseChrony, parseNtpq, parseTimesync } from "#domain/health/checks/clock-offset.ts";
import { describeCases, uncovered } from "./cases.ts";

/**
 * What programs print for people, in words that have changed from version to version. Each is asked for what it prints for programs: `timedatectl
 * show`, `chronyc -c tracking`, the bus, `ntpq -c rv`. So all that can be expected of these files is that nothing in them passes for an answer.
 */
const forPeople: Readonly<Record<string, (text: string) => unknown>> = {
  "chronyc-sources.txt": parseChrony,
  "chronyd-stratum-3-synced.txt": parseChrony,
  "jc-ntpq-p2.txt": parseNtpq,
  "jc-timedatectl-timesync-status.txt": parseTimesync,
  "jc-timedatectl.txt": parseTimedate,
  "ntpd-no-server-used-v1.txt": parseNtpq,
  "ntpd-no-server-used-v2.txt": parseNtpq,
  "ntpd-stratum-2-synced-v1.txt": parseNtpq,
  "ntpd-stratum-2-synced-v2.txt": parseNtpq,
  "timedate-status-20121017-nok.txt": parseTimedate,
  "timedate-status-20140318-nok.txt": parseTimedate,
  "timedate-status-20150407-ok.txt": parseTimedate,
  "timedate-status-20201026-ok.txt": parseTimedate,
  "timesyncd-no-server-used-v1.txt": parseTimesync,
  "timesyncd-no-server-used-v2.txt": parseTimesync,
  "timesyncd-stratum-2-synced-v1.txt": parseTimesync,
  "timesyncd-stratum-2-synced-v2.txt": parseTimesync,
};

describeCases("time", ({ text, files }) => {
  it("every file is read below", () => {
    expect(uncovered(files(), { read: Object.keys(forPeople), unread: {} })).toEqual([]);
  });

  it.each(Object.entries(forPeople))("%s: is unknown, or is refused with what was said", (file, parse) => {
    const read = (): unknown => parse(text(file));
    if (parse === parseTimedate) expect(read()).toBeUndefined();
    else expect(read).toThrow(/^cannot read what (chrony|systemd-timesyncd|ntpd) says: "/);
  });
});
