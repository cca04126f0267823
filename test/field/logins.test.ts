import { expect, it } from "vitest";
import { createLogins } from "#adapters/logins/index.ts";
import { describeCases } from "./cases.ts";

const never = new AbortController().signal;

describeCases("logins", ({ path }) => {
  const recent = (file: string, architecture = "x64") => {
    const exec = () => Promise.reject(new Error("nothing is started"));
    const logins = createLogins({ exec, paths: { wtmp: path(file), wtmpdb: [] }, architecture });
    return logins.recent(100, never);
  };
  const lines = async (file: string): Promise<readonly string[]> => {
    const found = await recent(file);
    if ("reason" in found) throw new Error(found.reason);
    const time = (at: number | null): string => (at === null ? "" : new Date(at).toISOString().slice(0, 19));
    return found.map((each) =>
      [each.user, each.tty, each.remoteHost, time(each.startedAt), time(each.endedAt), each.end].join(" "),
    );
  };

  it("sessions of a desktop have the ends that last(1) gives them", async () => {
    expect(await lines("wtmp-b.LE")).toEqual([
      "alice pts/2 :0.0 2013-01-17T21:09:39  none",
      "alice pts/1 :0.0 2013-01-17T20:17:21  none",
      "alice pts/3 :0.0 2013-01-17T13:12:39 2013-01-17T13:42:19 logout",
      "alice pts/3 :0.0 2013-01-17T12:23:33 2013-01-17T12:24:49 logout",
      "alice pts/2 :0.0 2013-01-16T23:49:17 2013-01-17T13:42:48 logout",
      "alice pts/1 :0.0 2013-01-16T23:44:09 2013-01-17T13:42:48 logout",
    ]);
  });

  it("a file that is cut off within a record is read up to there", async () => {
    expect(await lines("plaso-wtmp.1")).toEqual(["userA pts/32 10.10.122.1 2011-12-01T17:36:38  none"]);
  });

  it("records of every type give the logins of users alone", async () => {
    // last(1) takes every record with a user for a login; here the type of the record decides, and the epoch is no date.
    expect(await lines("wtmp-a.LE")).toEqual([
      "carol linux hobby 1991-08-26T00:57:08  none",
      "IPv4 root dns-server 2013-08-28T13:00:00 2013-08-28T14:00:00 logout",
      "user_process foo seven 2013-08-28T05:00:00 2013-08-28T10:00:00 crash",
    ]);
    expect(await lines("plaso-utmp")).toEqual([
      "bob pts/5 :0 2013-12-18T22:49:44  none",
      "bob pts/4 :0 2013-12-18T22:46:56  none",
      "bob pts/3 :0 2013-12-14T11:50:13  none",
      "bob pts/2 :0 2013-12-14T11:22:54  none",
      "bob pts/0 :0 2013-12-13T14:46:04  none",
      "bob tty7  2013-12-13T14:45:56  none",
    ]);
    expect(await lines("plaso-utmp_x86_64")).toEqual([]);
  });

  it("records of an architecture that is not known are said to be so, not read as nonsense", async () => {
    expect(await recent("plaso-utmp_s390", "s390x")).toEqual({ reason: expect.stringContaining("not known on s390x") });
  });
});
