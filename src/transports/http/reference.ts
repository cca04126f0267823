import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { apiBase } from "#contract/limits.ts";
import { servePublic } from "./public-content.ts";

const openapiPath = `${apiBase}/openapi.json`;
const asyncapiPath = `${apiBase}/asyncapi.json`;
const referencePath = `${apiBase}/docs`;

/** Files of Swagger UI, served from the installed package: the page works offline. */
const assets: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

const page = (base: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steward API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}${referencePath}/swagger-ui.css">
<body>
<div id="reference"></div>
<script src="${base}${referencePath}/swagger-ui-bundle.js"></script>
<script src="${base}${referencePath}/start.js"></script>
</body>
</html>
`;

const start = (
  base: string,
): string => `SwaggerUIBundle({ url: "${base}${openapiPath}", dom_id: "#reference", deepLinking: true, validatorUrl: null, displayRequestDuration: true, docExpansion: "list", defaultModelsExpandDepth: 0 });
`;

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

/**
 * The documents and their page. They need no key: they say nothing about the host.
 * @param base the path of the service behind a reverse proxy.
 */
export function addReference(
  app: FastifyInstance,
  documents: { readonly openapi: () => object; readonly asyncapi: () => object },
  base: string,
): void {
  const config = { access: { scope: "public" } as const };
  const directory = (): string => join(dirname(fileURLToPath(import.meta.resolve("@fastify/swagger-ui"))), "static");

  for (const [path, make] of [
    [openapiPath, documents.openapi],
    [asyncapiPath, documents.asyncapi],
  ] as const) {
    const document = servePublic(() => Buffer.from(JSON.stringify(make())));
    app.get(path, { config: { ...config, endpoint: path } }, (request, reply) =>
      document(request, reply.type("application/json; charset=utf-8")),
    );
  }
  const add = (path: string, type: string, content: () => Buffer): void => {
    const serve = servePublic(content);
    app.get(path, { config: { ...config, endpoint: path } }, (request, reply) =>
      serve(request, reply.header("Content-Security-Policy", policy).type(type)),
    );
  };
  add(referencePath, "text/html; charset=utf-8", () => Buffer.from(page(base)));
  add(`${referencePath}/start.js`, "text/javascript; charset=utf-8", () => Buffer.from(start(base)));
  for (const [name, type] of Object.entries(assets)) {
    add(`${referencePath}/${name}`, type, () => readFileSync(join(directory(), name)));
  }
}
