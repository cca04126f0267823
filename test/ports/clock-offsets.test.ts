import { describe, expect, it } from "vitest";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { createClockOffsets } from "#adapters/time-daemons/index.ts";
import type { ClockOffsets } from "#domain/ports/clock-offsets.ts";
import { createFakeClockOffsets } from "../fakes/clock-offsets.ts";

const { signal } = new AbortController();
const nowhere = { chrony: "/nonexistent", timesync: "/nonexistent", ntp: "/nonexistent" };
const here = "/proc/self";

/** Programs that answer this, by their last argument. */
const answering =
  (answers: Readonly<Record<string, string>>): Exec =>
  (argv) =>
    Promise.resolve({ exitCode: 0, stdout: answers[argv.at(-1) ?? ""] ?? "", stderr: "", truncated: false });

const tracking = "C0000201,192.0.2.1,3,1767258000.5,0.002,0,0,0,0,0,0,0,64,Normal\n";
const found = { program: "chrony", server: "192.0.2.1", offsetMs: 2, stratum: 3, answeredAt: 1_767_258_000_500 };

describe.each([
  ["fake", createFakeClockOffsets(found), createFakeClockOffsets()],
  [
    "chrony",
    createClockOffsets({ exec: answering({ tracking }), paths: { ...nowhere, chrony: here } }),
    createClockOffsets({ exec: answering({ tracking }), paths: nowhere }),
  ],
] as const)("clock offset: %s", (_, present: ClockOffsets, absent: ClockOffsets) => {
  it("is what the program says that sets the clock", async () => {
    expect(await present.canRead()).toBe(true);
    expect(await present.read(signal)).toEqual(found);
  });

  it("is undefined where none runs", async () => {
    expect(await absent.canRead()).toBe(false);
    expect(await absent.read(signal)).toBeUndefined();
  });
});

describe("clock offset", () => {
  it("is asked of timesyncd and ntpd where they run", async () => {
    const message = {
      type: "(uuuuittayttttbtt)",
      data: [0, 4, 4, 2, 0, 0, 0, [], 1000, 3000, 3000, 1000, false, 1, 0],
    };
    const answers = {
      NTPMessage: JSON.stringify(message),
      ServerName: JSON.stringify({ type: "s", data: "ntp.example.org" }),
      rv: "stratum=2, refid=192.0.2.9, offset=4.5",
    };
    const offsets = (place: Partial<typeof nowhere>) =>
      createClockOffsets({ exec: answering(answers), paths: { ...nowhere, ...place } });
    expect(await offsets({ timesync: here }).read(signal)).toEqual({
      program: "systemd-timesyncd",
      server: "ntp.example.org",
      offsetMs: 2,
      stratum: 2,
      answeredAt: 1,
    });
    expect(await offsets({ ntp: here }).read(signal)).toMatchObject({ program: "ntpd", offsetMs: 4.5 });
  });

  it("is an error, and not that of a clock in order, where the program answers nonsense", async () => {
    const nonsense = (text: string, place: Partial<typeof nowhere>) =>
      createClockOffsets({
        exec: answering({ tracking: text, NTPMessage: text, rv: text }),
        paths: { ...nowhere, ...place },
      }).read(signal);
    for (const text of ["oops", "{}", "stratum=2, offset=nan", tracking.replace("0.002", "nan")]) {
      await expect(nonsense(text, { chrony: here })).rejects.toThrow("cannot read what chrony says");
      await expect(nonsense(text, { timesync: here })).rejects.toThrow("cannot read what systemd-timesyncd says");
      await expect(nonsense(text, { ntp: here })).rejects.toThrow("cannot read what ntpd says");
    }
  });

  it("is undefined where ntpq reaches nobody, which is no error to it", async () => {
    const exec: Exec = () =>
      Promise.resolve({ exitCode: 0, stdout: "", stderr: "ntpq: read: Connection refused\n", truncated: false });
    expect(await createClockOffsets({ exec, paths: { ...nowhere, ntp: here } }).read(signal)).toBeUndefined();
  });

  it("is undefined where the program is missing or does not answer", async () => {
    const missing: Exec = (_, options) => exec(["/nonexistent/chronyc"], options);
    const silent: Exec = () =>
      Promise.resolve({ exitCode: 1, stdout: "", stderr: "506 Cannot talk", truncated: false });
    for (const each of [missing, silent])
      expect(
        await createClockOffsets({ exec: each, paths: { ...nowhere, chrony: here } }).read(signal),
      ).toBeUndefined();
  });
});
