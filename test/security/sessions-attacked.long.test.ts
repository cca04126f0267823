import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { apiBase } from "#contract/limits.ts";
import { type Browser, type BrowserContext, launchChromium, type Page } from "../process/support/chromium.ts";
import { type RunningService, startService } from "../process/support/service.ts";
import { until } from "../process/support/until.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { hasBrowser } from "../process/support/ws-browser.ts";
import { type Arrived, type OpenServer, startOpenServer } from "./support/open-server.ts";
import { askInPage, secretOf, shownKey, signedIn, signInAt } from "./support/sign-in.ts";

const workspace = createWorkspace();
const markup = "<img src=x onerror=globalThis.owned=1><script>globalThis.owned=1</script>";
let service: RunningService;
let browser: Browser;
/** The page of an attacker: another port of the same host, to which browsers send the same cookies. */
let attacker: OpenServer;
/** In the place of the service: what reaches it would reach the service. */
let control: OpenServer;
let context: BrowserContext;
let page: Page;

/** The service under a name that has other ports with other programs. */
const own = (): string => `http://localhost:${service.port}`;
const attackerOrigin = (): string => `http://localhost:${attacker.port}`;

describe.runIf(hasBrowser())("a session attacked in Chromium", () => {
  beforeAll(async () => {
    service = await startService(workspace, { environment: { STEWARD_RATE_LIMITS: "off" } });
    [attacker, control, browser] = await Promise.all([startOpenServer(), startOpenServer(), launchChromium(workspace)]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    attacker?.close();
    control?.close();
    await workspace.dispose();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterEach(() => context.close());

  const admin = () => createClient({ url: service.url, key: service.adminKey });
  const codeOf = async (key = service.adminKey): Promise<string> => {
    const made = await createClient({ url: service.url, key }).createCode();
    return (made as { code: string }).code;
  };

  const signIn = (at = page, key = service.adminKey): Promise<void> => signInAt(at, own(), key);
  const cookieOf = async (of = context) => {
    const found = (await of.cookies()).find(({ name }) => name.startsWith("steward"));
    if (found === undefined) throw new Error("there is no cookie");
    return found;
  };
  const linesOf = (path: string) => service.lines().filter(({ endpoint }) => endpoint === `${apiBase}${path}`);
  /** The status of the next request to the path, as the service has logged it. */
  async function statusOf(path: string, work: () => Promise<unknown>): Promise<unknown> {
    const before = linesOf(path).length;
    await work();
    return (await until("line of the request", () => linesOf(path)[before])).status;
  }
  /** What the same work sends to a server that refuses nothing. */
  async function arrivedBy(work: (target: string) => Promise<unknown>, method: string): Promise<Arrived> {
    const before = control.arrived.length;
    await work(`http://localhost:${control.port}`);
    return until("request of the page", () => control.arrived.slice(before).find((each) => each.method === method));
  }

  describe("a session attacked by a page of another port, to which the browser sends its cookie too", () => {
    beforeEach(() => signIn());

    const path = "/system/hostname";

    it("is not used by a form that the page submits", async () => {
      const submit = async (target: string): Promise<void> => {
        const form = `<form method=post enctype=text/plain action="${target}${apiBase}${path}"><input name='{"hostname":"' value='owned"}'></form>`;
        attacker.serve("/form", `${form}<script>document.forms[0].submit()</script>`);
        await page.goto(`${attackerOrigin()}/form`, { waitUntil: "commit" });
        await page.waitForURL(`${target}${apiBase}${path}`);
      };
      const sent = await arrivedBy(submit, "POST");
      expect([sent.headers.cookie, sent.body]).toEqual([
        expect.stringContaining((await cookieOf()).value),
        expect.stringContaining("owned"),
      ]);
      expect(await statusOf(path, () => submit(own()))).toBe(403);
    });

    it("is not used by requests whose answers the page does not read", async () => {
      const send = async (target: string): Promise<void> => {
        await page.goto(`${attackerOrigin()}/`);
        await page.evaluate(
          (url) =>
            fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body: '{"hostname":"owned"}' }).then(
              () => undefined,
              // The browser hides the answer of the service, which is for its own pages alone.
              () => undefined,
            ),
          `${target}${apiBase}${path}`,
        );
      };
      expect((await arrivedBy(send, "POST")).headers.cookie).toContain((await cookieOf()).value);
      expect(await statusOf(path, () => send(own()))).toBe(403);
    });

    it("is not used by an image, a script or a frame that the page embeds", async () => {
      for (const tag of ["<img src=URL>", "<script src=URL></script>", "<iframe src=URL></iframe>"]) {
        const embed = async (target: string): Promise<void> => {
          attacker.serve("/embed", `<!doctype html>${tag.replace("URL", `${target}${apiBase}/health`)}`);
          await page.goto(`${attackerOrigin()}/embed`, { waitUntil: "commit" });
        };
        expect((await arrivedBy(embed, "GET")).headers.cookie).toContain((await cookieOf()).value);
        expect([tag, [401, 403]]).toEqual([
          tag,
          expect.arrayContaining([await statusOf("/health", () => embed(own()))]),
        ]);
      }
    });

    it("is not used where the page has stolen the second half, too", async () => {
      const secret = await secretOf(page);
      const send = async (target: string): Promise<unknown> => {
        await page.goto(`${attackerOrigin()}/`);
        return page.evaluate(
          ([url, half]) =>
            fetch(url, { credentials: "include", headers: { "X-Steward-Session": half } }).then(
              ({ status }) => status,
              (error: unknown) => String(error),
            ),
          [`${target}${apiBase}/health`, secret] as const,
        );
      };
      const arrived = await arrivedBy(send, "GET");
      expect([arrived.headers.cookie, arrived.headers["x-steward-session"]]).toEqual([
        expect.stringContaining((await cookieOf()).value),
        secret,
      ]);
      expect(await send(own())).toBe("TypeError: Failed to fetch");
    });

    it("is not used by a WebSocket of the page, also with a ticket that it has found [cross-site-websocket]", async () => {
      const connect = (at: Page, target: string, ticket: string): Promise<unknown> =>
        at.evaluate(
          (url) =>
            new Promise((resolve) => {
              const socket = new WebSocket(url);
              socket.onopen = () => resolve("open");
              socket.onclose = ({ code }) => resolve(code);
            }),
          `${target.replace("http", "ws")}${apiBase}/ws/health?ticket=${ticket}`,
        );
      const ticketOf = (): Promise<string> =>
        page.evaluate(async (url) => {
          const [, secret = ""] =
            Object.entries(localStorage).find(([name]) => name.startsWith("steward-session")) ?? [];
          const answer = await fetch(url, { method: "POST", headers: { "X-Steward-Session": secret } });
          return ((await answer.json()) as { ticket: string }).ticket;
        }, `${apiBase}/auth/tickets`);
      const [ticket, stolen, spare] = [await ticketOf(), await ticketOf(), await ticketOf()];
      expect(await connect(page, own(), ticket)).toBe("open");
      expect(await connect(page, own(), ticket)).toBe(1006);
      const elsewhere = await context.newPage();
      await elsewhere.goto(`${attackerOrigin()}/`);
      const arrived = await arrivedBy((target) => connect(elsewhere, target, stolen), "UPGRADE");
      expect(arrived.headers.cookie).toContain((await cookieOf()).value);
      expect(await connect(elsewhere, own(), stolen)).toBe(1006);
      // In another browser, without the cookie.
      const other = await browser.newContext();
      const foreign = await other.newPage();
      await foreign.goto(`${own()}/console/`);
      expect(await connect(foreign, own(), spare)).toBe(1006);
      await other.close();
    });

    it("has its second half where the page does not find it", async () => {
      expect(await secretOf(page)).toMatch(/^sts_/);
      await page.goto(`${attackerOrigin()}/`);
      expect(await page.evaluate(() => JSON.stringify(Object.entries(localStorage)))).toBe("[]");
    });

    it("is not used by its cookie alone, which the server of the page reads", async () => {
      await page.goto(`${attackerOrigin()}/`);
      const { cookie } = attacker.arrived.at(-1)?.headers ?? {};
      expect(cookie).toContain((await cookieOf()).value);
      const url = `${own()}${apiBase}/health`;
      const headers = { cookie: cookie ?? "", host: `localhost:${service.port}` };
      expect((await fetch(url.replace("localhost", "127.0.0.1"), { headers })).status).toBe(401);
    });

    it("is not shown in a frame of the page", async () => {
      const frame = async (target: string): Promise<string | undefined> => {
        attacker.serve("/frame", `<!doctype html><iframe src="${target}/console/"></iframe>`);
        await page.goto(`${attackerOrigin()}/frame`);
        return page
          .frames()
          .at(1)
          ?.evaluate(() => document.title);
      };
      control.serve("/console/", "<!doctype html><title>in a frame</title>");
      expect(await frame(`http://localhost:${control.port}`)).toBe("in a frame");
      expect(await frame(own())).not.toBe("Steward");
    });
  });

  it("is not reached under a name that was made to lead here [forged-host]", async () => {
    const rebound = (port: number): Promise<number | undefined> =>
      page.goto(`http://rebound.example:${port}/console/`).then((answer) => answer?.status());
    expect(await rebound(control.port)).toBe(200);
    expect(await rebound(service.port)).toBe(403);
    await signIn();
    expect(await rebound(service.port)).toBe(403);
    // Nor does a page of another site have the cookie sent.
    await page.goto(`http://evil.example:${attacker.port}/`);
    const before = control.arrived.length;
    const url = `http://localhost:${control.port}/`;
    await page.evaluate((to) => fetch(to, { mode: "no-cors", credentials: "include" }).then(() => undefined), url);
    expect(control.arrived[before]?.headers.cookie).toBeUndefined();
  });

  it("is not used by one of its halves in another browser, and is by both", async () => {
    await signIn();
    const [cookie, secret] = [await cookieOf(), await secretOf(page)];
    const inOther = async (halves: { readonly cookie?: boolean; readonly secret?: boolean }): Promise<number> => {
      const other = await browser.newContext();
      if (halves.cookie === true) await other.addCookies([cookie]);
      const thief = await other.newPage();
      await thief.goto(`${own()}/console/`);
      if (halves.secret === true)
        await thief.evaluate((half) => localStorage.setItem("steward-session /api/v1/", half), secret);
      const status = await askInPage(thief, "/health");
      await other.close();
      return status;
    };
    expect(await inOther({ cookie: true })).toBe(401);
    expect(await inOther({ secret: true })).toBe(401);
    expect(await inOther({ cookie: true, secret: true })).toBe(200);
  });

  it("is started by a code once", async () => {
    const code = await codeOf();
    await page.goto(`${own()}/console/access#code=${code}`);
    await signedIn(page);
    const other = await browser.newContext();
    const late = await other.newPage();
    await late.goto(`${own()}/console/#code=${code}`);
    await late.getByText("the code is not valid").waitFor();
    expect(await late.getByRole("heading", { name: "Sign in" }).isVisible()).toBe(true);
    await other.close();
  });

  it("is not the one that an attacker has planted", async () => {
    const made = await admin().createKey({ body: { name: "attacker", scopes: ["health:read"] } });
    const key = (made as { key: string }).key;
    const mine = await browser.newContext();
    const mineAt = await mine.newPage();
    await signIn(mineAt, key);
    const planted = await cookieOf(mine);
    const plant = async (): Promise<void> => {
      const cookie = `${planted.name}=${planted.value}; Path=/; HttpOnly; SameSite=Strict`;
      attacker.serve("/plant", "<!doctype html>", { "Set-Cookie": cookie });
      await page.goto(`${attackerOrigin()}/plant`);
    };
    // Before the victim signs in: then the cookie is that of the new session, of which the attacker has nothing.
    await plant();
    expect((await cookieOf()).value).toBe(planted.value);
    await signIn();
    expect(await shownKey(page)).toContain("admin");
    expect((await cookieOf()).value).not.toBe(planted.value);
    expect(await askInPage(mineAt, "/auth/keys")).toBe(403);
    // While the victim is signed in: then the halves do not belong together.
    await plant();
    expect((await cookieOf()).value).toBe(planted.value);
    await page.goto(`${own()}/console/`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    // A link with a code of the attacker replaces no session.
    await signIn();
    await page.goto("about:blank");
    await page.goto(`${own()}/console/access#code=${await codeOf(key)}`);
    await page.getByText("You are signed in already").waitFor();
    expect(await shownKey(page)).toContain("admin");
    await mine.close();
  });

  it("shows names of keys as text, whatever is in them [cross-site-scripting]", async () => {
    const made = await admin().createKey({ body: { name: markup, scopes: ["health:read"] } });
    const violations: string[] = [];
    page.on("console", (message) => violations.push(message.text()));
    await signIn(page, (made as { key: string }).key);
    expect(await shownKey(page)).toContain(markup);
    expect(await page.getByRole("region", { name: "All sessions" }).locator("td").first().textContent()).toContain(
      markup,
    );
    expect(await page.evaluate(() => [Object.hasOwn(globalThis, "owned"), document.images.length])).toEqual([false, 0]);
    expect(violations).toEqual([]);
    // The browser would refuse markup that a script makes of it, and scripts beside those of the service.
    const refused = await page.evaluate((text) => {
      try {
        document.body.innerHTML = text;
        return "taken";
      } catch (error) {
        return String(error);
      }
    }, markup);
    expect(refused).toContain("TrustedHTML");
  });

  it("has a cookie over TLS that no page without it can set or read, and another name on each port", async () => {
    const secure = await startService(workspace, {
      settings: "tls: auto\nupdates: { enabled: false }\nconnectors: { discover: false }\n",
      environment: { STEWARD_RATE_LIMITS: "off" },
    });
    const trusting = await browser.newContext({ ignoreHTTPSErrors: true });
    const at = await trusting.newPage();
    await signInAt(at, `https://localhost:${secure.port}`, secure.adminKey);
    const cookies = await trusting.cookies();
    expect(
      cookies.map(({ name, httpOnly, secure: isSecure, sameSite, path, expires }) => ({
        ...{ name, httpOnly, isSecure, sameSite, path, expires },
      })),
    ).toEqual([
      {
        ...{ name: `__Host-steward-${secure.port}`, httpOnly: true, isSecure: true },
        ...{ sameSite: "Strict", path: "/", expires: -1 },
      },
    ]);
    expect(await askInPage(at, "/health")).toBe(200);
    // On the other service of the same host they are signed in beside it, not instead of it.
    await signInAt(at, own(), service.adminKey);
    expect(await askInPage(at, "/health")).toBe(200);
    await at.goto(`https://localhost:${secure.port}/console/access`);
    await signedIn(at);
    expect(await askInPage(at, "/health")).toBe(200);
    await trusting.close();
  });
});
