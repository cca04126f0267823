import { expect, it } from "vitest";
import { installedPrograms } from "./program.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const unit = "steward.service";
const folder = "/var/lib/steward";

describeOnHost("the key store of the installed service", (session) => {
  const own = (name: string): Promise<string> => property(session, unit, name);
  const systemctl = (...words: readonly string[]) =>
    session.host.exec(["systemctl", ...words], { allowFailure: true, timeoutMs: 60_000 });

  it("that is lost keeps the service from starting, once, until an administrator decides", {
    timeout: 120_000,
  }, async () => {
    // As the unit has it; the test host itself starts nothing again.
    await session.host.writeFile(`/etc/systemd/system/${unit}.d/90-restart.conf`, "[Service]\nRestart=on-failure\n");
    await systemctl("daemon-reload");
    const before = session.service.adminKey;
    await systemctl("stop", unit);
    await session.shell(`truncate -s 0 ${folder}/keys.db`);
    await systemctl("start", unit);
    await eventually(async () => expect(await own("ActiveState")).toBe("failed"));
    expect([await own("ExecMainStatus"), await own("NRestarts")]).toEqual(["78", "0"]);
    // journald may write the last line after systemd has noted the end.
    await eventually(async () =>
      expect(await session.shell(`journalctl -u ${unit} -o cat`)).toMatch(
        /cannot open the key store .*: it is empty, but the service has run here before \(there is admin\.key, .*--new-admin-key/,
      ),
    );
    expect((await session.shell(`cat ${folder}/admin.key`)).trim()).toBe(before);

    // What the installation page says to do.
    const program = [...installedPrograms, "serve", "--new-admin-key"].join(" ");
    const environment = `STEWARD_STATE_DIR=${folder} STEWARD_LISTEN=127.0.0.1:0`;
    await session.shell(
      `runuser -u steward -- env ${environment} timeout --signal=INT 30 ${program} > /run/recovery 2>&1 & pid=$!
       for i in $(seq 200); do grep -q 'The admin key is in' /run/recovery && break; sleep 0.1; done
       kill -INT $pid; wait $pid || true`,
    );
    await session.service.restart();
    expect(session.service.adminKey).not.toBe(before);
    expect(await session.api.whoami()).toMatchObject({ name: "admin" });
    expect((await session.shell(`ls ${folder}`)).split("\n")).toContainEqual(
      expect.stringMatching(/^keys\.db\.lost-\d{8}T\d{6}Z$/),
    );
  });
});
