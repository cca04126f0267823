import { expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("users and sign-ins", { user: "steward" }, (session) => {
  const { shell } = session;
  const userNamed = async (name: string) => {
    const { users } = await session.api.listUsers({ query: { limit: 10_000 } });
    return users.find((each) => each.name === name);
  };

  it("are listed as getent and ssh-keygen list them", async () => {
    await shell(
      [
        "useradd --create-home --shell /bin/bash --groups adm --comment 'Eve, of the tests' eve",
        "install -d -m 700 -o eve -g eve ~eve/.ssh",
        "ssh-keygen -q -t ed25519 -N '' -C eve@laptop -f /run/eve-key",
        `{ echo "# keys"; printf 'from="192.0.2.0/24",no-pty '; cat /run/eve-key.pub; } >~eve/.ssh/authorized_keys`,
        "chmod 600 ~eve/.ssh/authorized_keys; chown eve: ~eve/.ssh/authorized_keys",
        "useradd --create-home mal; install -d -o mal ~mal/.ssh; ln -s ~eve/.ssh/authorized_keys ~mal/.ssh/authorized_keys",
        "useradd --create-home --expiredate 2020-01-01 former; echo former:x | chpasswd",
      ].join("\n"),
    );
    const [bits = "", fingerprint = ""] = (await shell("ssh-keygen -lf /run/eve-key.pub")).split(" ");
    expect(await userNamed("eve")).toMatchObject({
      ...{ comment: "Eve, of the tests", home: "/home/eve", shell: "/bin/bash", groups: ["eve", "adm"] },
      ...{ password: "locked", can_sign_in: true, expires_at: null },
      authorized_keys: [
        { type: "ssh-ed25519", bits: Number(bits), fingerprint, comment: "eve@laptop", options: ["from", "no-pty"] },
      ],
    });
    expect(await userNamed("mal")).toMatchObject({ authorized_keys: null, can_sign_in: null });
    expect(await userNamed("former")).toMatchObject({ password: "set", can_sign_in: false });
    const { users, total } = await session.api.listUsers({ query: { limit: 10_000 } });
    const passwd = (await shell("getent passwd | cut -d: -f1,3 | sort -t: -k2n")).trim().split("\n");
    expect([total, new Set(users.map(({ name, uid }) => `${name}:${uid}`))]).toEqual([passwd.length, new Set(passwd)]);
    expect(JSON.stringify(users)).not.toMatch(/AAAA|\$y\$/);
  });

  it("sessions are those of loginctl, and an attempt in vain is told by root's programs alone", async () => {
    const { sessions, not_shown: missing } = await session.api.listLogins();
    const ids = (await shell("loginctl list-sessions --no-legend | awk '{ print $1 }'")).split("\n").filter(Boolean);
    expect(sessions?.map(({ id }) => id)).toEqual(ids);
    expect(missing.filter(({ what }) => what !== "recent")).toEqual([]);
    await shell(
      "systemd-cat -t sshd echo 'Failed password for root from 192.0.2.66 port 4 ssh2'; runuser -u eve -- systemd-cat -t sshd echo 'Failed password for forged from 192.0.2.67 port 4 ssh2'",
    );
    await eventually(async () => {
      const { failed } = await session.api.listLogins();
      expect(failed?.map(({ user, remote_host: host }) => [user, host])).toContainEqual(["root", "192.0.2.66"]);
    });
    const { failed } = await session.api.listLogins();
    expect(failed?.map(({ user }) => user)).not.toContain("forged");
  });

  it("those of lately are those of last, and where there is no record that is said", async () => {
    await shell("rm -f /var/log/wtmp");
    expect(await session.api.listLogins()).toMatchObject({
      recent: null,
      not_shown: [{ what: "recent", reason: expect.stringContaining("/var/log/wtmp is not there") }],
    });
    // type, pid, line, id, user, host, exit, session, time and its microseconds, address, unused: utmp(5)
    const script = `import struct,platform
wide=platform.machine()=="aarch64"
def row(kind,line,user,host,at):
    head=struct.pack("<hxxi32s4s32s256shh",kind,1,line,b"",user,host,0,0)
    return head+(struct.pack("<qqq",0,at,0)+bytes(16+20)+bytes(4) if wide else struct.pack("<iii",0,at,0)+bytes(16+20))
open("/var/log/wtmp","wb").write(row(7,b"pts/3",b"eve",b"192.0.2.9",1700000000)+row(8,b"pts/3",b"",b"",1700000060))`;
    await session.host.exec(["python3", "-c", script]);
    expect((await session.api.listLogins()).recent).toEqual([
      {
        ...{ user: "eve", tty: "pts/3", remote_host: "192.0.2.9", end: "logout" },
        started_at: "2023-11-14T22:13:20.000Z",
        ended_at: "2023-11-14T22:14:20.000Z",
      },
    ]);
    const last = await shell("command -v last >/dev/null && last -F -f /var/log/wtmp || echo no last");
    if (!last.startsWith("no last"))
      expect(last).toContain("192.0.2.9        Tue Nov 14 22:13:20 2023 - Tue Nov 14 22:14:20 2023");
  });
});
