import { expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { defaultSuite } from "./recipe.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

const members = "/run/steward/steward.sock";
const administrator = "/run/steward/root.sock";
const stranger = "stranger";
const member = "member";
const refused = { error: { code: "UNAUTHORIZED" } };

/** Opens connections from inside, each with the start of a request, and holds them until it is killed. */
const flooder = `
import socket, sys, time
held = []
for at in range(int(sys.argv[1])):
  try:
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=20))
    held[-1].sendall(b"GET /livez HTTP/1.1\\r\\nHost: loc")
  except OSError:
    pass
print("there", flush=True)
time.sleep(1000)
`;

describeOnHost("the Unix sockets of the package", (session) => {
  const as = (user: string, argv: readonly string[]) =>
    session.host.exec(argv, { ...(user !== "root" && { user }), allowFailure: true, timeoutMs: 30_000 });
  const curl = async (user: string, socket: string, path: string, ...options: readonly string[]) => {
    const argv = ["curl", "-sS", "--unix-socket", socket, ...options, `http://localhost/api/v1${path}`];
    const { stdout, stderr, exitCode } = await as(user, argv);
    return exitCode === 0 ? (JSON.parse(stdout) as Record<string, unknown>) : stderr.trim();
  };
  const state = async (unit: string): Promise<string> =>
    (await session.host.exec(["systemctl", "is-active", unit], { allowFailure: true })).stdout.trim();
  const steward = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    session.host.exec([...installedPrograms, ...words], {
      env: { PATH: "/usr/bin:/bin", HOME: "/root", ...env },
      allowFailure: true,
      timeoutMs: 30_000,
    });

  it("are root's, in a directory of root's", async () => {
    await session.shell(
      `id ${stranger} >/dev/null 2>&1 || useradd ${stranger}; id ${member} >/dev/null 2>&1 || useradd -G steward ${member}`,
    );
    expect(await session.shell(`stat -c '%n %U:%G %a' /run/steward ${members} ${administrator}`)).toBe(
      `/run/steward root:root 755\n${members} root:steward 660\n${administrator} root:root 600\n`,
    );
  });

  it("know by themselves who asks: root without a key, members with one, nobody else", async () => {
    expect(await curl("root", administrator, "/auth/whoami")).toMatchObject({ key_id: "root", credential: "socket" });
    expect(await curl("root", administrator, "/auth/whoami", "-H", "X-API-Key: wrong")).toMatchObject(refused);
    expect(await curl("root", members, "/auth/whoami")).toMatchObject(refused);
    expect(await curl(member, members, "/auth/whoami")).toMatchObject(refused);
    const key = ["-H", `X-API-Key: ${session.service.adminKey}`];
    expect(await curl(member, members, "/auth/whoami", ...key)).toMatchObject({ name: "admin", credential: "key" });
    for (const [user, socket] of [
      [member, administrator],
      ["steward", administrator],
      [stranger, administrator],
      [stranger, members],
    ] as const)
      expect(await curl(user, socket, "/auth/whoami", ...key)).toContain("connect");
  });

  it("cannot be replaced by the user of the service", async () => {
    for (const line of [
      `rm -f ${administrator}`,
      `mv ${administrator} /run/steward/old`,
      `mv /run/steward /run/steward-old`,
      `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/run/steward/other.sock")'`,
      `chmod 666 ${administrator}`,
    ]) {
      const { exitCode } = await as("steward", ["sh", "-c", line]);
      expect({ line, failed: exitCode !== 0 }).toEqual({ line, failed: true });
    }
    expect(await curl("root", administrator, "/auth/whoami")).toMatchObject({ key_id: "root" });
  });

  it("are what root's command line uses, and the audit log says root", async () => {
    const made = await steward(["keys", "create", "by-root", "--scope", "viewer", "--json"]);
    expect({ code: made.exitCode, stderr: made.stderr }).toEqual({ code: 0, stderr: "" });
    const { entries } = await session.api.listAudit({ query: { limit: 50 } });
    expect(entries.find(({ operation }) => operation === "createKey")).toMatchObject({
      key_id: "root",
      key_name: "root",
      remote_address: "unix",
      outcome: "ok",
    });
    expect((await session.api.getHealth()).components.cli).toBe(true);
  });

  it("answer after a reload and a restart, and go with the service", async () => {
    const inode = () => session.shell(`stat -c %i ${administrator} ${members}`);
    const before = await inode();
    await session.host.exec(["systemctl", "reload", "steward.service"]);
    expect(await inode()).toBe(before);
    await session.service.restart();
    // Newer versions of systemd propagate a restart as they do a stop.
    if (defaultSuite() === "bookworm") expect(await inode()).toBe(before);
    expect(await curl("root", administrator, "/auth/whoami")).toMatchObject({ key_id: "root" });
    expect(await curl(member, members, "/auth/whoami")).toMatchObject(refused);
    await session.service.stop();
    for (const unit of ["steward.service", "steward.socket", "steward-root.socket"])
      expect([unit, await state(unit)]).toEqual([unit, "inactive"]);
    expect(await session.shell("ls /run/steward")).toBe("");
    const { exitCode, stderr } = await steward(["status"]);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("is it running?");
    expect(await state("steward.service")).toBe("inactive");
    await session.service.restart();
    expect(await curl("root", administrator, "/auth/whoami")).toMatchObject({ key_id: "root" });
  });

  it("are served again when the service comes back from being killed", async () => {
    const dropIn = "/etc/systemd/system/steward.service.d/90-again.conf";
    await session.host.writeFile(dropIn, "[Service]\nRestart=always\nRestartSec=100ms\n");
    await session.host.exec(["systemctl", "daemon-reload"]);
    await session.host.exec(["systemctl", "kill", "--signal=KILL", "steward.service"]);
    await eventually(
      async () => expect(await curl("root", administrator, "/auth/whoami")).toMatchObject({ key_id: "root" }),
      30_000,
    );
    await session.host.exec(["rm", dropIn]);
    await session.host.exec(["systemctl", "daemon-reload"]);
    await session.service.restart();
  });

  it("answer the administrator under a flood of 5000 connections, as TCP does", async () => {
    await session.host.writeFile("/srv/flood.py", flooder);
    const { port } = new URL(session.service.url);
    const options = ["--unit=flood", "--uid=nobody", "--quiet", "--property=LimitNOFILE=20000"];
    await session.host.exec(["systemd-run", ...options, "python3", "/srv/flood.py", "5000", port]);
    await eventually(async () => expect(await session.shell("journalctl -q -o cat -u flood")).toContain("there"));
    for (let count = 0; count < 20; count += 1) {
      // A connection that has not shown its key yet may be closed to make space, and its client tries again.
      await eventually(async () => {
        const answer = await fetch(`${session.service.url}/api/v1/health`, {
          headers: { "X-API-Key": session.service.adminKey, Connection: "close" },
        });
        expect(answer.status).toBe(200);
      });
      expect(await curl("root", administrator, "/health")).toHaveProperty("status");
    }
    await session.host.exec(["systemctl", "stop", "flood"]);
  });
});
