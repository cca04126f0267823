import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { addAuthenticator, registerOnPage, signInByPasskey } from "../security/support/passkeys.ts";
import { signedIn, signInAt } from "../security/support/sign-in.ts";
import { type CertificateFiles, makePair } from "./support/certificates.ts";
import { launchChromium } from "./support/chromium.ts";
import { type ModelServer, startModelServer } from "./support/model-server.ts";
import { where } from "./support/optional-program.ts";
import { runProgram } from "./support/program.ts";
import { baseEnvironment, type RunningService, root, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { hasBrowser } from "./support/ws-browser.ts";
import { openStream, refusedStream } from "./support/ws-client.ts";

const workspace = createWorkspace();
const example = (name: string): string => readFileSync(join(root, "examples/reverse-proxy", name), "utf8");
const paths = ["/web1", "/web2"] as const;
const client = "127.0.0.9";

let certificate: CertificateFiles;
let model: ModelServer;

beforeAll(async () => {
  certificate = await makePair(workspace, "proxy", "IP:127.0.0.1,DNS:localhost");
  model = await startModelServer();
});
afterAll(async () => {
  await model.close();
  await workspace.dispose();
});

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

function start(argv: readonly [string, ...string[]], environment: Record<string, string> = {}): ChildProcess {
  const child = spawn(argv[0], argv.slice(1), {
    stdio: "ignore",
    env: { ...baseEnvironment(workspace), ...environment },
  });
  workspace.adopt(child);
  return child;
}

/** Replaces each text, which must be there. */
const replaced = (text: string, by: Readonly<Record<string, string>>): string =>
  Object.entries(by).reduce((rest, [from, to]) => {
    if (!rest.includes(from)) throw new Error(`cannot use the example: it has no ${from}`);
    return rest.replaceAll(from, to);
  }, text);

interface Ports {
  readonly own: number;
  readonly web1: number;
  readonly web2: number;
}

const proxies = {
  nginx({ own, web1, web2 }: Ports) {
    const site = replaced(example("nginx.conf"), {
      "listen 443 ssl": `listen 127.0.0.1:${own} ssl`,
      "hosts.example.org;": "localhost;",
      "/etc/ssl/certs/hosts.example.org.pem": certificate.cert,
      "/etc/ssl/private/hosts.example.org.key": certificate.key,
      "127.0.0.1:8470": `127.0.0.1:${web1}`,
      "127.0.0.1:8471": `127.0.0.1:${web2}`,
    });
    const file = workspace.path("nginx.conf");
    const directories = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (each) => `${each}_temp_path ${workspace.path(`nginx-${each}`)};`,
    );
    writeFileSync(
      file,
      // Without workers: they would outlive a master that is killed.
      `daemon off; master_process off; ${process.getuid?.() === 0 ? "user root; " : ""}pid ${workspace.path("nginx.pid")};\nerror_log ${workspace.path("nginx.log")};\nevents {}\nhttp { access_log off; ${directories.join(" ")}\n${site}\n}\n`,
    );
    start(["/usr/sbin/nginx", "-e", workspace.path("nginx.log"), "-c", file]);
  },
  caddy({ own, web1, web2 }: Ports) {
    const site = replaced(example("Caddyfile"), {
      "\nhosts.example.org {": `\nhttps://localhost:${own}, https://127.0.0.1:${own} {\n\tbind 127.0.0.1\n\ttls ${certificate.cert} ${certificate.key}`,
      "127.0.0.1:8470": `127.0.0.1:${web1}`,
      "127.0.0.1:8471": `127.0.0.1:${web2}`,
    });
    const file = workspace.path("Caddyfile");
    writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
    start(["/usr/bin/caddy", "run", "--config", file, "--adapter", "caddyfile"]);
  },
};

describe.each(Object.keys(proxies) as (keyof typeof proxies)[])("behind %s", (name) => {
  where(name, () => {
    let origin: string;
    const services: Record<string, RunningService> = {};
    const service = (path: string): RunningService => services[path] as RunningService;

    beforeAll(async () => {
      const own = await freePort();
      origin = `https://localhost:${own}`;
      for (const path of paths) {
        services[path] = await startService(workspace, {
          settings: [
            `public_url: "${origin}${path}"`,
            "trusted_proxies: [127.0.0.1]",
            "updates: { enabled: false }",
            `connectors: { discover: false, list: [{ name: model, provider: openai-compatible, model: ${model.model}, base_url: "${model.url}" }] }`,
            "",
          ].join("\n"),
        });
      }
      proxies[name]({ own, web1: service("/web1").port, web2: service("/web2").port });
      const probe = ["-sS", "--noproxy", "*", "--cacert", certificate.cert, `${origin}/web1/livez`];
      const isUp = async () => (await runProgram(workspace, ["/usr/bin/curl", ...probe])).code === 0 || undefined;
      await until("the proxy", isUp, 60_000);
    });

    const curl = async (path: string, target: string, ...more: readonly string[]) => {
      const { stdout, stderr } = await runProgram(workspace, [
        ...(["/usr/bin/curl", "-sS", "--noproxy", "*", "--cacert", certificate.cert, "--interface", client] as const),
        ...["-w", "\n%{http_code}", "-H", `X-API-Key: ${service(path).adminKey}`, ...more, `${origin}${target}`],
      ]);
      if (stderr !== "") throw new Error(stderr);
      const [status = "", ...body] = stdout.split("\n").reverse();
      return { status: Number(status), body: body.reverse().join("\n") };
    };

    it.each(paths)("a service below %s answers and refuses, and counts the client by its address", async (path) => {
      const me = await curl(path, `${path}/api/v1/auth/whoami`);
      expect(me.status).toBe(200);
      expect(JSON.parse(me.body)).toMatchObject({ name: "admin" });
      const unknown = await curl(path, `${path}/api/v1/nothing`);
      expect([unknown.status, JSON.parse(unknown.body)]).toMatchObject([404, { error: { code: "NOT_FOUND" } }]);
      const document = await curl(path, `${path}/api/v1/openapi.json`);
      expect(JSON.parse(document.body)).toMatchObject({ servers: [{ url: path }] });
      // The other host's key is not one of this.
      const other = await curl(path === "/web1" ? "/web2" : "/web1", `${path}/api/v1/health`);
      expect(other.status).toBe(401);
      const forged = ["-H", "X-Forwarded-For: 203.0.113.7", "-H", "Forwarded: for=203.0.113.7", "-X", "POST"];
      const made = await curl(
        path,
        `${path}/api/v1/auth/keys`,
        ...forged,
        ...["-H", "Content-Type: application/json", "-d", '{"name":"behind","scopes":["health:read"]}'],
      );
      expect(made.status).toBe(201);
      const { body } = await curl(path, `${path}/api/v1/audit?limit=1&operation=createKey`);
      expect(JSON.parse(body)).toMatchObject({ entries: [{ remote_address: client, path: "/api/v1/auth/keys" }] });
    });

    it("a WebSocket is passed on, of a key and of a session with its cookie and a ticket", async () => {
      const path = "/web1";
      const page = ["-H", `Origin: ${origin}`, "-H", "Sec-Fetch-Site: same-origin"];
      const jar = workspace.path(`${name}-stream-cookies`);
      const asPage = async (target: string, ...more: readonly string[]) => {
        const argv = ["-sS", "--noproxy", "*", "--cacert", certificate.cert, "-b", jar, "-c", jar, "-X", "POST"];
        const call = [...argv, ...page, ...more, `${origin}${path}/api/v1${target}`] as const;
        return JSON.parse((await runProgram(workspace, ["/usr/bin/curl", ...call])).stdout) as Record<string, string>;
      };
      const json = ["-H", "Content-Type: application/json", "-d", JSON.stringify({ key: service(path).adminKey })];
      const { secret = "", id = "" } = await asPage("/auth/sessions", ...json);
      const ticketOf = async () =>
        (await asPage("/auth/tickets", "-H", `X-Steward-Session: ${secret}`))["ticket"] ?? "";
      // As the browser sends it: what curl has kept for this path.
      const cookieOf = (of: string) =>
        readFileSync(jar, "utf8")
          .split("\n")
          .map((line) => line.split("\t"))
          .flatMap(([, , , , , cookie = "", value = ""]) =>
            cookie.endsWith(of.slice(1)) ? [`${cookie}=${value}`] : [],
          )
          .join("; ");
      const cookie = cookieOf(path);
      expect(cookie).toMatch(/^__Host-steward-\d+-web\d=/);
      const ca = readFileSync(certificate.cert, "utf8");
      const address = [`${origin}${path}`, "/api/v1/ws/health"] as const;
      const headers = { cookie, Origin: origin };
      const keyed = { "X-API-Key": service(path).adminKey };
      const ofKey = await openStream(...address, { headers: { ...keyed, Origin: origin }, ca });
      // What is sent is answered.
      await ofKey.handled();
      ofKey.socket.terminate();
      const foreign = { headers: { ...keyed, Origin: "https://elsewhere.example.org" }, ca };
      expect(await refusedStream(...address, foreign)).toMatchObject({ status: 403 });

      const ticket = await ticketOf();
      const stream = await openStream(...address, { query: { ticket }, headers, ca });
      await stream.handled();
      const refused = async (given: string, sent: Record<string, string>, at: string = address[0]) =>
        (await refusedStream(at, address[1], { query: { ticket: given }, headers: sent, ca })).status;
      expect(await refused(ticket, headers)).toBe(401);
      expect(await refused(await ticketOf(), { Origin: origin })).toBe(401);
      expect(await refused(await ticketOf(), { cookie, Origin: "https://elsewhere.example.org" })).toBe(403);
      // The other host of the proxy does not know the session.
      const other = `${origin}${path === "/web1" ? "/web2" : "/web1"}`;
      expect(await refused(await ticketOf(), headers, other)).toBe(401);

      const out = await curl(path, `${path}/api/v1/auth/sessions/${id}`, "-X", "DELETE");
      expect(out.status).toBe(200);
      expect(await stream.closed).toMatchObject({ code: 4401 });
    });

    it("an event is passed on when it comes", async () => {
      const path = "/web1";
      model.mode = "held";
      const asked = spawn("/usr/bin/curl", [
        ...["-sSN", "--noproxy", "*", "--cacert", certificate.cert, "-H", `X-API-Key: ${service(path).adminKey}`],
        ...[
          "-H",
          "Content-Type: application/json",
          "-d",
          '{"connector":"model","stream":true,"messages":[{"role":"user","content":"?"}]}',
        ],
        `${origin}${path}/api/v1/connectors/chat`,
      ]);
      workspace.adopt(asked);
      let text = "";
      asked.stdout.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
      const ended = new Promise((resolve) => asked.once("close", resolve));
      // The model says the rest only once this has come.
      await until("the first words", () => text.includes("All "), 60_000);
      expect(text).not.toContain("well");
      model.release();
      expect(await ended).toBe(0);
      expect(text).toContain("event: done");
    });

    it("a service answers without the proxy too, but not without a key", async () => {
      const { url, adminKey } = service("/web1");
      for (const path of ["", "/web1"]) {
        const answer = await fetch(`${url}${path}/api/v1/health`, { headers: { "X-API-Key": adminKey } });
        expect([path, answer.status]).toEqual([path, 200]);
      }
      const metrics = await fetch(`${url}/metrics`);
      expect(metrics.status).toBe(401);
    });

    describe.runIf(hasBrowser())("in a browser", () => {
      it("the console has its pages and streams below the path", async () => {
        const browser = await launchChromium(workspace, readFileSync(certificate.cert, "utf8"));
        try {
          const page = await browser.newPage();
          await page.goto(`${origin}/web1/`);
          expect(page.url()).toBe(`${origin}/web1/console/`);
          await signInAt(page, `${origin}/web1`, service("/web1").adminKey);
          const devtools = await page.context().newCDPSession(page);
          await devtools.send("Network.enable");
          const opened = new Promise<number>((resolve) => {
            devtools.on("Network.webSocketHandshakeResponseReceived", ({ response }) => resolve(response.status));
          });
          await page.getByRole("link", { name: "Logs" }).click();
          await page.getByRole("button", { name: "Live" }).click();
          expect([page.url().startsWith(`${origin}/web1/console/logs`), await opened]).toEqual([true, 101]);
          await page.reload();
          await page.getByRole("heading", { name: "Logs" }).waitFor();
        } finally {
          await browser.close();
        }
      });

      it("a passkey signs in on one of two hosts alone", async () => {
        const browser = await launchChromium(workspace, readFileSync(certificate.cert, "utf8"));
        try {
          const page = await browser.newPage();
          await addAuthenticator(page);
          await signInAt(page, `${origin}/web1`, service("/web1").adminKey);
          await registerOnPage(page, service("/web1").adminKey, "laptop");
          await signInByPasskey(page);
          await signedIn(page);
          await page.goto(`${origin}/web2/console/`);
          await page.getByRole("button", { name: "Sign in with a passkey" }).click();
          await page.getByText("it is not known here, or was removed").waitFor();
          const { passkeys } = await createClient({
            url: service("/web1").url,
            key: service("/web1").adminKey,
          }).listPasskeys();
          expect(passkeys).toMatchObject([{ name: "laptop", domain: "localhost", last_used_at: expect.any(String) }]);
        } finally {
          await browser.close();
        }
      });
    });
  });
});
