import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { runSteward } from "./support/program.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const key = `stw_Ab3dEf6h_${"k".repeat(43)}`;
const nobody = 65_534;
const missing = process.getuid?.() === 0 ? undefined : "needs root, to listen as somebody else";
if (missing !== undefined) process.stdout.write(`skipped: ports of others: ${missing}\n`);

/** Answers whatever it is asked, and says what it was sent. */
const listener = `
const { createServer } = require("node:net");
const server = createServer((socket) => socket.on("error", () => undefined).on("data", (data) => {
  console.log(JSON.stringify(String(data)));
  socket.end("HTTP/1.1 500 Oh\\r\\nContent-Length: 0\\r\\n\\r\\n");
}));
server.listen(0, process.argv[1], () => console.log(server.address().port));
`;

async function listen(host: string, uid: number) {
  // By this name another user may run it wherever the checkout is.
  const child = spawn("/proc/self/exe", ["-e", listener, host], {
    uid,
    stdio: ["ignore", "pipe", "inherit"],
    cwd: "/",
  });
  workspace.adopt(child);
  let said = "";
  child.stdout.on("data", (data) => {
    said += String(data);
  });
  await once(child.stdout, "data");
  return { port: Number(said.split("\n")[0]), said: () => said };
}

const stateDir = workspace.path("state");
const keyFile = `${stateDir}/admin.key`;
mkdirSync(stateDir);
writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });

const steward = (port: number, ...argv: readonly string[]) =>
  runSteward(workspace, argv, { STEWARD_STATE_DIR: stateDir, STEWARD_LISTEN: `127.0.0.1:${port}` });

describe.skipIf(missing !== undefined)("the admin key", () => {
  it.each(["127.0.0.1", "0.0.0.0", "::"])(
    "is not shown to a program of another user that listens on %s",
    async (host) => {
      const { port, said } = await listen(host, nobody);
      expect(await steward(port, "keys", "list")).toEqual({
        code: 2,
        stdout: "",
        stderr: `steward: cannot ask the service: at http://127.0.0.1:${port} listens another program, of user ${nobody}, which is not shown the key (stop it, and start the service)\n`,
      });
      expect((await steward(port, "doctor", "--check", "none")).stderr).toContain("listens another program");
      expect(said()).toBe(`${port}\n`);
    },
  );

  it("is sent to a program of its own user", async () => {
    const { port, said } = await listen("127.0.0.1", 0);
    expect((await steward(port, "keys", "list")).code).toBe(2);
    expect(said().toLowerCase()).toContain(`x-api-key: ${key.toLowerCase()}`);
  });

  it("is not read where nobody listens", async () => {
    expect(await steward(1, "keys", "list")).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "steward: cannot reach the service: nothing listens at http://127.0.0.1:1 (is it running? systemctl status steward, journalctl -u steward)\n",
    });
  });
});

describe("a link in the place of the certificate", () => {
  it("is not followed by the command line", async () => {
    const secret = workspace.path("secret.pem");
    writeFileSync(secret, "-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----\n", { mode: 0o600 });
    const settings = workspace.path("auto.yaml");
    writeFileSync(settings, "tls: auto\n");
    symlinkSync(secret, `${stateDir}/tls-cert.pem`);
    const environment = { STEWARD_STATE_DIR: stateDir, STEWARD_CONFIG: settings };
    const directory = workspace.path("stack");
    for (const argv of [
      ["observability", "init", directory],
      ["keys", "list"],
    ]) {
      const { code, stdout, stderr } = await runSteward(workspace, argv, environment);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("it is a symbolic link that is not followed");
    }
    expect(existsSync(directory)).toBe(false);
  });
});
