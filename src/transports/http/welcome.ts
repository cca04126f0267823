import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { apiBase } from "#contract/limits.ts";
import { addVary } from "./compression.ts";

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#1b1f24;background:#fff}" +
  "code{background:#eef0f2;padding:.1em .3em;border-radius:3px}a{color:#0b57d0}" +
  "@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#16191d}code{background:#2a2f36}a{color:#8ab4f8}}";

const page = (base: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steward</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<body>
<h1>Steward</h1>
<p>This is the address of an API that looks after a host: HTTP and JSON, for programs.</p>
<ul>
<li><a href="${base}/console/">Sign in with this browser</a></li>
<li><a href="${base}${apiBase}/docs">What the API can do</a></li>
<li><a href="${base}${apiBase}/openapi.json">The same for programs (OpenAPI)</a></li>
</ul>
<p>Requests need an API key in the header <code>X-API-Key</code>. The administrator of the host makes one with
<code>steward keys create NAME --scope viewer</code>.</p>
</body>
</html>
`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Whether the client asks for HTML; programs that accept anything get the usual answer. */
function wantsPage({ headers: { accept = "" } }: FastifyRequest): boolean {
  return accept.split(",").some((each) => {
    const [type = "", ...parameters] = each.split(";").map((part) => part.trim().toLowerCase());
    return type === "text/html" && !parameters.some((parameter) => /^q=0(?:\.0{1,3})?$/.test(parameter));
  });
}

const open = { access: { scope: "public" }, endpoint: "/" } as const;

/**
 * The page for people who open the address in a browser. It needs no key and says nothing about the host.
 * @param base the path of the service behind a reverse proxy.
 */
export function addWelcome(app: FastifyInstance, base: string): void {
  const content = page(base);
  app.get("/", { config: { routeOf: (request) => (wantsPage(request) ? open : undefined) } }, (_, reply) => {
    addVary(reply, "Accept");
    return reply.header("Content-Security-Policy", policy).type("text/html; charset=utf-8").send(content);
  });
}
