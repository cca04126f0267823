import { afterEach, describe, expect, it } from "vitest";
import { errorStatus } from "#contract/errors.ts";
import { type OperationName, operations } from "#contract/index.ts";
import { errorsOf } from "#contract/operation.ts";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import { breakMethod, methodsOf, type Port, portsOf, type Started, startOnPorts } from "./broken-ports.ts";
import { callOf } from "./calls.ts";
import { send, type TestReply, type TestRequest } from "./harness.ts";
import { mutations } from "./mutations.ts";

const isMutation = (name: OperationName): boolean => mutations.some(([mutation]) => mutation === name);

/** What the adapters throw of it, and what callers are to get. */
const failures = {
  "a full disk": {
    error: () =>
      Object.assign(new Error("ENOSPC: no space left on device, write"), {
        code: "ENOSPC",
        errno: -28,
        path: "/var/lib/steward/file",
      }),
    error_body: {
      code: "UNAVAILABLE",
      message: expect.stringMatching(
        /^cannot .*no space left on \/var\/lib\/steward \(free some space there and try again\)/,
      ),
      details: { missing: "disk space", directory: "/var/lib/steward", retryable: true },
    },
  },
  "no system bus": {
    // As what asks root does: the bus is what starts root's side.
    error: () => new Error("cannot ask root", { cause: new UnitsUnavailable("the system bus does not answer", true) }),
    error_body: {
      code: "UNAVAILABLE",
      message: expect.stringMatching(/^cannot .*the system bus does not answer/),
      details: { missing: "systemd", retryable: true },
    },
  },
} as const;

describe.each(Object.entries(failures))("on a host with %s", (_, { error, error_body: expected }) => {
  let started: Started | undefined;
  afterEach(async () => {
    await started?.service.app.close();
    started = undefined;
  });

  const refused = new Set<string>();

  it.each(Object.keys(operations) as OperationName[])(
    "%s is never answered with an internal error, and the same request succeeds later",
    async (name) => {
      started = await startOnPorts();
      const { service } = started;
      for (const [portName, port] of Object.entries<Port>(portsOf(service, started))) {
        for (const method of methodsOf(port)) {
          const where = `${name} without ${portName}.${method}`;
          const request = await callOf(service, name);
          const repair = breakMethod(port, method, error);
          let reply: TestReply;
          try {
            reply = await send(service, request);
          } finally {
            repair();
          }
          expect({ where, status: reply.status, body: reply.text }).not.toMatchObject({ status: 500 });
          if (reply.status !== errorStatus.UNAVAILABLE) continue;
          refused.add(`${name} ${portName}`);
          expect(errorsOf(operations[name])).toContain("UNAVAILABLE");
          expect({ where, ...(reply.json as object) }).toMatchObject({ where, error: expected });
          if (!isMutation(name)) continue;
          const again = await send(service, request);
          expect({ where, status: again.status, body: again.text }).toMatchObject({
            status: expect.toSatisfy((status: number) => status < 300),
          });
        }
      }
    },
  );

  it("a key is revoked even if its tokens cannot be removed, and its streams end", async () => {
    started = await startOnPorts();
    const { service, keys } = started;
    const text = service.key(["system:read"]);
    const made = await send(service, { method: "POST", path: "/api/v1/auth/tokens", key: text, body: {} });
    const { token } = made.json as { token: string };
    const ended: string[] = [];
    service.service.keyring.onRevoked((id) => void ended.push(id));
    const id = text.slice(4, 12);
    const repair = breakMethod({ port: keys, how: "throws" }, "deleteTokens", error);
    const request: TestRequest = { method: "DELETE", path: `/api/v1/auth/keys/${id}`, key: service.admin };
    expect(await send(service, request)).toMatchObject({ status: 503, json: { error: expected } });
    repair();
    expect(ended).toEqual([id]);
    for (const key of [text, token])
      expect(await send(service, { path: "/api/v1/auth/whoami", key })).toMatchObject({ status: 401 });
    expect((await send(service, request)).status).toBe(200);
  });

  it("the failure is reported by operations that write", () => {
    expect([...refused]).toEqual(
      expect.arrayContaining([
        "createKey keys",
        "revokeKey keys",
        "createToken keys",
        "createSnapshot operations",
        "createSnapshot snapshots",
        "applyUpdates operations",
        "applyUpdates package manager",
        "applyUpdates snapshots",
        "silenceAlert alerts",
        "enablePlugin enabled plugins",
        "restartService units",
        "listServices units",
      ]),
    );
  });
});
