import { expect, it } from "vitest";
import { exchange } from "../process/support/raw-socket.ts";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

const directory = "/var/lib/steward/audit";
const first = `${directory}/audit-000000000001.log`;

describeOnHost("the audit log on a host", { fileSystem: "ext4", checks: [] }, (session) => {
  const steward = (...argv: readonly string[]) =>
    session.host.exec([...installedPrograms, "audit", ...argv], { allowFailure: true });
  const makeKeys = async (count: number): Promise<void> => {
    for (let made = 0; made < count; made += 1)
      await session.api.createKey({ body: { name: `key-${made}`, scopes: [] } });
  };
  const headsLogged = async (): Promise<number> =>
    Number(await session.shell('journalctl -q -o cat -u steward.service | grep -c \'"msg":"audit checkpoint"\''));

  it("is verified by root against what the service has written to the journal", async () => {
    await makeKeys(3);
    await session.service.restart();
    await eventually(async () => expect(await headsLogged()).toBeGreaterThanOrEqual(3));
    const verified = await steward("verify");
    expect(verified).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^intact: entries 1 to \d+ in 1 file, and [3-9] written down elsewhere are among them\nhead: /,
      ),
    });
    const listed = await steward("list", "--offline", "--operation", "createKey");
    expect(listed.stdout.match(/createKey +id=\w+ name=key-\d/g)).toHaveLength(3);
  });

  it("is intact after requests without a key whose path, parameter or host is unreadable, and still shows a change", async () => {
    const { port } = new URL(session.service.url);
    const head = (path: string, host = "localhost"): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const long = `/api/v1/auth/keys/${"x".repeat(2_000)}`;
    const requests = [
      head("/%"),
      head("/%zz"),
      head("/api/v1/plugins/%c0%ae"),
      head("/%", "a b"),
      head("/%", "evil.example"),
    ];
    for (const [at, text] of [...requests, head(long).replace("GET", "DELETE")].entries())
      await exchange(Number(port), text, { localAddress: `127.0.8.${at + 1}` });
    await makeKeys(1);
    const { entries } = await session.api.listAudit({ query: { outcome: "refused" } });
    expect(entries.map(({ remote_address: from }) => from)).toEqual(
      expect.arrayContaining([1, 2, 3, 4, 5, 6].map((at) => `127.0.8.${at}`)),
    );
    expect(await steward("verify")).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^intact: /) });
    await session.shell(
      `cp ${first} /root/before; sed 's/"remote_address":"127.0.8.2"/"remote_address":"127.0.8.9"/' /root/before > ${first}`,
    );
    expect(await steward("verify")).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/entry \d+ was changed: its hash does not fit/),
    });
    await session.shell(`cat /root/before > ${first}; rm /root/before`);
    expect(await steward("verify")).toMatchObject({ exitCode: 0 });
  });

  it("continues, over a restart too, on files that can only be appended to", async () => {
    await session.shell(`chattr +a ${directory} ${directory}/*.log`);
    await session.service.restart();
    await makeKeys(2);
    expect(await steward("verify")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await session.host.exec(["truncate", "-s", "0", first], { allowFailure: true })).not.toMatchObject({
      exitCode: 0,
    });
    expect(await session.host.exec(["rm", first], { allowFailure: true })).not.toMatchObject({ exitCode: 0 });
    expect((await session.api.listAudit({ query: { operation: "createKey", limit: 2 } })).entries).toHaveLength(2);
    await session.shell(`chattr -a ${directory} ${directory}/*.log`);
  });

  it("records a restart during which the service was killed as one without a known outcome", async () => {
    await session.writeUnits({
      "slow.service": ["[Service]", "Type=notify", "NotifyAccess=all", "ExecStart=/bin/sleep infinity"],
    });
    const asked = session.api.restartService({ params: { name: "slow" } }).catch(() => "cut off");
    await eventually(async () =>
      expect(await session.shell("systemctl show -P ActiveState slow.service")).toBe("activating\n"),
    );
    await session.shell("systemctl kill -s KILL steward.service && systemctl stop slow.service");
    expect(await asked).toBe("cut off");
    await session.service.restart();
    await eventually(async () =>
      expect((await session.api.listAudit({ query: { operation: "restartService" } })).entries).toMatchObject([
        { outcome: "failed", status: null, target: { name: "slow" }, key_name: "admin" },
      ]),
    );
    await session.service.restart();
    expect((await session.api.listAudit({ query: { operation: "restartService" } })).entries).toHaveLength(1);
    expect(await steward("verify")).toMatchObject({ exitCode: 0 });
  });
});
