import { expect, it } from "vitest";
import { parseSshdOptions } from "#adapters/sshd/index.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import { sshConfigCheck } from "#domain/health/checks/ssh-config.ts";
import { failedLoginsIn, failedPattern } from "#domain/system/failed-logins.ts";
import { createFakeSshServer } from "../fakes/ssh-server.ts";
import { describeCases, uncovered } from "./cases.ts";

/** A line of a log as the entry of the journal that it would be: one second after the line before, without what syslogd puts first. */
function entryOf(line: string, second: number): LogEntry {
  const [, identifier = "sshd", pid, text = line] =
    /^(?:\S{3}\s+\d+ [\d:]+ |\S+T\S+ )?\S+ (?:([\w-]+)\[(\d+)\]: {1,2})?(.*)$/.exec(line) ?? [];
  const message = text.replace(/^\[ID \d+ \S+\] /, "");
  return {
    timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
    identifier,
    message,
    pid: pid === undefined ? null : Number(pid),
    boot_id: "b",
    cursor: String(second),
  } as unknown as LogEntry;
}

const others = ["log-dropbear.log", "log-pam-generic.log", "log-selinux-ssh.log"];
const unread = { "sshd_config-jc.txt": "sshd itself is asked for what it makes of its file" };

describeCases("sshd", ({ text, files }) => {
  it("every file is read below or has a reason why not", () => {
    const logs = ["log-auth-mixed.log", "log-fail2ban-1.log", "log-fail2ban-journal-1.log", "log-plaso.log"];
    expect(uncovered(files(), { read: [...logs, ...others, "sshd-T-1.txt"], unread })).toEqual([]);
  });

  const entries = (file: string) => text(file).split("\n").filter(Boolean).map(entryOf);
  const line = (entry: LogEntry): string | undefined => {
    const [found] = failedLoginsIn([entry]);
    return found && `${found.user} ${found.known_user ? "" : "(unknown) "}from ${found.remote_host}`;
  };
  const lines = (file: string) => entries(file).flatMap((entry) => line(entry) ?? []);

  it("every line that is a failed login is found in the journal by the pattern that it is searched with", () => {
    for (const file of ["log-fail2ban-1.log", "log-fail2ban-journal-1.log", "log-auth-mixed.log", "log-plaso.log"])
      for (const entry of entries(file))
        if (line(entry) !== undefined) expect(entry.message).toMatch(new RegExp(failedPattern));
  });

  it("twenty years of OpenSSH: user and address of each line, whatever the name says", () => {
    const found = lines("log-fail2ban-1.log");
    expect(found).toHaveLength(60);
    for (const each of [
      "test-ipv6 from 2001:db8:254:6:417:7505:59a2:6087",
      "ROOT (unknown) from aaaa:bbbb:cccc:1234::1:1",
      "root from ::ffff:192.0.2.149",
      "ftp (unknown) from 192.0.2.2",
      "root from 198.51.100.103",
      "kernelitshell (unknown) from 10.215.4.227",
      "allena from example.com",
      "<invalid username> (unknown) from 198.51.100.153",
      "xxx (unknown) from 192.0.2.7",
      "admin from 192.0.2.6",
      "from 10.10.1.1 (unknown) from 127.0.0.1",
      "test from 10.10.1.2 port 55555 ssh2 (unknown) from 127.0.0.1",
      "user from 127.0.0.1",
    ])
      expect(found).toContain(each);
    // sshd writes nothing behind "ssh2" of a password (auth.c, auth_log), so the name goes on until the last "from".
    expect(found).toContain("test from 127.0.0.1 port 58946 ssh2: (unknown) from 10.10.1.2");
  });

  it("the lines of one connection are one failed login, or one for each attempt", () => {
    const all = failedLoginsIn(entries("log-fail2ban-1.log").toReversed());
    expect(all.filter(({ user }) => user === "xxx")).toHaveLength(1);
    expect(all.filter(({ user, remote_host: host }) => user === "admin" && host === "192.0.2.117")).toHaveLength(1);
    expect(all.filter(({ user, remote_host: host }) => user === "git" && host === "192.0.2.111")).toHaveLength(2);
  });

  it("lines of PAM, the audit log and Dropbear are no failed logins of OpenSSH, which has lines of its own", () => {
    for (const file of others) expect([file, lines(file)]).toEqual([file, []]);
  });

  it("sshd -T: a password is enough for users and not for root, and options that stand several times are all there", async () => {
    const options = parseSshdOptions(text("sshd-T-1.txt"));
    expect(options).toMatchObject({
      acceptenv: "LANG\nLC_*\ntest1 test2",
      hostkey: ["ecdsa", "ed25519", "rsa"].map((kind) => `/etc/ssh/ssh_host_${kind}_key`).join("\n"),
      authorizedkeysfile: ".ssh/authorized_keys .ssh/authorized_keys2",
    });
    const check = sshConfigCheck({ ssh: createFakeSshServer({ is: "valid", options, matches: [] }) });
    const { status, details } = await check.run({ ignore: [] }, new AbortController().signal);
    expect([status, details]).toMatchObject(["warn", { findings: [{ option: "passwordauthentication" }] }]);
  });

  it("of accepted, failed and other lines the failed ones alone are listed", () => {
    expect(lines("log-auth-mixed.log")).toEqual(["test (unknown) from 10.0.2.2", "root from 198.51.100.57"]);
    expect(lines("log-plaso.log")).toEqual(["erin from 001:db8:a0b:12f0::1", "root from 203.0.113.91"]);
  });
});
