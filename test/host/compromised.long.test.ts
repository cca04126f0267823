import { beforeAll, expect, it } from "vitest";
import { createIntruder } from "./support/intruder.ts";
import { makePackageSources } from "./support/package-sources.ts";
import { openSandbox, type SandboxResult } from "./support/sandbox.ts";
import { describeOnHost } from "./support/session.ts";

const secretFile = "/etc/steward/webhook";

/** What code in the process of the installed service can do, and the edge of it: the sentences of docs/threat-model.md. */
describeOnHost("a compromised service", (session) => {
  const { newOperation, request, runOperation, spec, stateOf, write } = createIntruder(session);
  let run: (script: string) => Promise<SandboxResult>;

  beforeAll(async () => {
    run = await openSandbox(session);
    await makePackageSources(session, []);
    await session.api.checkUpdates();
  });

  it("reads its state, the digests of keys, the credentials that it uses, and the journal", async () => {
    const { id } = await session.api.createKey({ body: { name: "somebody", scopes: [] } });
    await session.shell(`echo token > ${secretFile}; chown root:steward ${secretFile}; chmod 640 ${secretFile}`);
    await session.shell("logger -t stranger a-line-of-somebody-else; journalctl --sync");
    const { exitCode, output } = await run(
      `set -e; cat /var/lib/steward/keys.db* | grep -a -c '${id}'; cat ${secretFile}; journalctl -q -o cat -t stranger`,
    );
    expect({ exitCode, output }).toEqual({
      exitCode: 0,
      output: expect.stringMatching(/^[1-9]\d*\ntoken\na-line-of-somebody-else\n$/),
    });
    await session.shell(`rm ${secretFile}`);
  });

  it("can have root do what the operations do", async () => {
    const operation = newOperation();
    expect(await request("packages.refresh", {})).toHaveProperty("output");
    await write(
      `/var/lib/steward/operations/${operation}/spec.json`,
      spec(operation, {
        kind: "updates.apply",
        input: { request: { type: "packages", isSecurityOnly: true }, takesSnapshot: false, isGuarded: false },
      }),
    );
    await runOperation(operation);
    // Whatever there was to install: root has taken it over and come to an end.
    expect(await stateOf(operation)).toMatchObject({ status: expect.stringMatching(/^(done|failed)$/) });
  });

  it("writes to its own directories and nowhere else", async () => {
    const { output } = await run(
      "find / ( -path /proc -o -path /sys ) -prune -o -writable ! -type l -print0 2>/dev/null | xargs -0 -n 1 | cat".replace(
        /[()]/g,
        "\\$&",
      ),
    );
    const own = /^\/(?:var\/lib\/steward|run\/steward-service|tmp|var\/tmp|dev\/shm|dev\/mqueue)(?:\/|$)/;
    // Devices without a host behind them, and sockets that anybody may connect to.
    const shared =
      /^\/dev\/(?:null|zero|full|random|urandom|tty|ptmx|pts\/ptmx|log)$|^\/run\/(?:dbus\/system_bus_socket|systemd\/)/;
    const found = output.trim().split("\n");
    expect(found).toEqual(expect.arrayContaining(["/var/lib/steward", "/run/steward-service", "/tmp"]));
    const elsewhere = found.filter((path) => !own.test(path) && !shared.test(path));
    const kinds = await Promise.all(
      elsewhere.map(async (path) => [path, (await session.shell(`stat -c %F '${path}' 2>&1 || true`)).trim()]),
    );
    expect(kinds.filter(([, kind]) => kind !== "socket")).toEqual([]);
    // That of the host it may ask how full it is.
    await session.shell("echo theirs > /dev/shm/of-the-host; chmod 666 /dev/shm/of-the-host");
    const sharedMemory = "/dev/shm/host";
    await run(`echo x > ${sharedMemory}/of-the-host || echo x > ${sharedMemory}/of-the-service || true`);
    expect(await session.shell("cd /dev/shm; cat of-the-host; ls of-the-service 2>&1 || true; rm of-the-host")).toMatch(
      /^theirs\nls: cannot access/,
    );
    // Private to it: what it puts there nobody else meets.
    await run("echo x > /tmp/of-the-service; echo x > /var/tmp/of-the-service; echo x > /dev/shm/of-the-service");
    expect(
      await session.shell("ls /tmp/of-the-service /var/tmp/of-the-service /dev/shm/of-the-service 2>/dev/null || true"),
    ).toBe("");
  });

  it("gets no kernel surface beyond the ordinary: no namespaces, no keys, no raw sockets, no tracing, no mounts", async () => {
    const tries = {
      namespace: "unshare --user true",
      mount: "mount -t tmpfs none /tmp",
      raw: `python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'`,
      kernel: "cat /dev/kmsg",
      trace: `python3 -c 'import ctypes,os,sys; sys.exit(0 if ctypes.CDLL(None).ptrace(16, ${await session.service.pid()}, 0, 0) == 0 else 1)'`,
      setuid: "python3 -c 'import os; os.setuid(0)'",
      personality: `python3 -c 'import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).personality(0x0040000) >= 0 else 1)'`,
    };
    const script = Object.entries(tries)
      .map(([name, line]) => `if ${line} >/dev/null 2>&1; then echo ${name}; fi`)
      .join("\n");
    expect((await run(`${script}\ntrue && echo end`)).output).toBe("end\n");
  });

  it("cannot keep itself in the host past its end", async () => {
    await run("(setsid sleep 300 >/dev/null 2>&1 &) ; echo started");
    const left = await session.shell("pgrep -u steward -x sleep || true");
    expect(left).toBe("");
  });
});
