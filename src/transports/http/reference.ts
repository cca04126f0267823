import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply } from "fastify";
import { apiBase } from "#contract/limits.ts";

const openapiPath = `${apiBase}/openapi.json`;
const referencePath = `${apiBase}/docs`;

/** Files of Swagger UI, served from the installed package: the page works offline. */
const assets: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steward API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${referencePath}/swagger-ui.css">
<body>
<div id="reference"></div>
<script src="${referencePath}/swagger-ui-bundle.js"></script>
<script src="${referencePath}/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({ url: "${openapiPath}", dom_id: "#reference", deepLinking: true, validatorUrl: null, displayRequestDuration: true, docExpansion: "list", defaultModelsExpandDepth: 0 });
`;

const pageBytes = Buffer.from(page);
const startBytes = Buffer.from(start);

/** No inline scripts, nothing from elsewhere. Swagger UI sets styles on elements and has icons in data URLs. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const sliceBytes = 64 * 1024;

function* slicesOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += sliceBytes) yield content.subarray(at, at + sliceBytes);
}

/** Sends public content in slices, so that thousands of clients that never read do not each have a copy in memory. */
function sendSlices(reply: FastifyReply, content: Buffer): FastifyReply {
  reply.header("Content-Length", content.length);
  return reply.send(Readable.from(slicesOf(content), { objectMode: false, highWaterMark: sliceBytes }));
}

/** The OpenAPI document and its page. They need no key: they say nothing about the host. */
export function addReference(app: FastifyInstance, documentJson: () => string): void {
  const config = { access: { scope: "public" } as const };
  const folder = (): string => join(dirname(fileURLToPath(import.meta.resolve("@fastify/swagger-ui"))), "static");

  let document: Buffer | undefined;
  app.get(openapiPath, { config: { ...config, endpoint: openapiPath } }, (_, reply) => {
    document ??= Buffer.from(documentJson());
    return sendSlices(reply.type("application/json; charset=utf-8"), document);
  });
  const add = (path: string, type: string, content: () => Buffer): void => {
    app.get(path, { config: { ...config, endpoint: path } }, (_, reply) =>
      sendSlices(
        reply.header("Content-Security-Policy", policy).header("Cache-Control", "no-cache").type(type),
        content(),
      ),
    );
  };
  add(referencePath, "text/html; charset=utf-8", () => pageBytes);
  add(`${referencePath}/start.js`, "text/javascript; charset=utf-8", () => startBytes);
  for (const [name, type] of Object.entries(assets)) {
    // Read at first use and shared by all requests.
    let content: Buffer | undefined;
    add(`${referencePath}/${name}`, type, () => {
      content ??= readFileSync(join(folder(), name));
      return content;
    });
  }
}
