import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";

const folder = fileURLToPath(new URL("console", import.meta.url));

/** Scripts and styles of the service alone; markup that is made of text is refused by the browser. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const headers = {
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=(), publickey-credentials-get=(self)",
  "X-Frame-Options": "DENY",
} as const;

const path = "/console";

const files = [
  ["", "index.html", "text/html; charset=utf-8"],
  ["session.js", "session.js", "text/javascript; charset=utf-8"],
  ["style.css", "style.css", "text/css; charset=utf-8"],
] as const;

/** The page to sign in with a browser. It needs no key and says nothing about the host; nothing of it is stored. */
export function addConsole(app: FastifyInstance): void {
  const access = { scope: "public" } as const;
  app.get(path, { config: { access, endpoint: path } }, (_, reply) =>
    // Relative, since a proxy may have put the service below a path of its own.
    reply.code(308).header("Location", "console/").send(),
  );
  for (const [name, file, type] of files) {
    const endpoint = `${path}/${name}`;
    let content: Buffer | undefined;
    app.get(endpoint, { config: { access, endpoint } }, (_, reply) => {
      content ??= readFileSync(`${folder}/${file}`);
      return reply.headers(headers).type(type).send(content);
    });
  }
}
