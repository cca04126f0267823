import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { addVary, negotiateCoding } from "./compression.ts";
import { isNotModified, weakTag } from "./entity-tags.ts";

const directory = fileURLToPath(new URL("../../../dist/console", import.meta.url));

/** Scripts and styles of the service alone; markup that is made of text is refused by the browser. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
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
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

const page = "index.html";
const forms = { br: ".br", gzip: ".gz" } as const;

interface ConsoleFile {
  readonly type: string;
  readonly tag: string;
  readonly identity: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

function readFiles(): ReadonlyMap<string, ConsoleFile> {
  // A service that runs from its sources has none.
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const read = (name: string): Buffer => readFileSync(join(directory, name));
  return new Map(
    names.flatMap((name) => {
      const type = types[name.slice(name.lastIndexOf(".") + 1)];
      if (type === undefined) return [];
      const identity = read(name);
      return [
        [name, { type, tag: weakTag(identity), identity, br: read(name + forms.br), gzip: read(name + forms.gzip) }],
      ];
    }),
  );
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  [name, file]: readonly [string, ConsoleFile],
): FastifyReply {
  reply.headers(headers);
  const coding = negotiateCoding(request, reply, ["br", "gzip"]);
  if (name === page) {
    reply.header("ETag", file.tag).header("Cache-Control", "no-cache");
    if (isNotModified(request.headers["if-none-match"], file.tag)) return reply.code(304).send();
  } else {
    // Its name says what is in it.
    reply.header("Cache-Control", "public, max-age=31536000, immutable");
  }
  if (coding !== undefined) reply.header("Content-Encoding", coding);
  return reply.type(file.type).send(file[coding ?? "identity"]);
}

/** Whether the client asks for HTML; programs that accept anything get the usual answer. */
function wantsPage({ headers: { accept = "" } }: FastifyRequest): boolean {
  return accept.split(",").some((each) => {
    const [type = "", ...parameters] = each.split(";").map((part) => part.trim().toLowerCase());
    return type === "text/html" && !parameters.some((parameter) => /^q=0(?:\.0{1,3})?$/.test(parameter));
  });
}

const path = "/console";
const access = { scope: "public" } as const;

/**
 * The console, for people who open the address in a browser. Its files need no key and say nothing about the host.
 * @param base the path of the service behind a reverse proxy, which is put before absolute addresses. Without one they are relative: a proxy may have
 * one all the same.
 */
export function addConsole(app: FastifyInstance, base: string): void {
  const root = { access, endpoint: "/" };
  app.get("/", { config: { routeOf: (request) => (wantsPage(request) ? root : undefined) } }, (_, reply) => {
    addVary(reply, "Accept");
    return reply
      .code(302)
      .header("Location", base === "" ? "console/" : "/console/")
      .send();
  });
  app.get(path, { config: { access, endpoint: path } }, (_, reply) =>
    reply.code(308).header("Location", "console/").send(),
  );
  let files: ReadonlyMap<string, ConsoleFile> | undefined;
  app.get<{ Params: { file: string } }>(
    `${path}/:file`,
    { config: { access, endpoint: `${path}/{file}` } },
    (request, reply) => {
      files ??= readFiles();
      // Addresses of pages, each of which is the one page, have no dot.
      const { file: asked } = request.params;
      const name = asked.includes(".") ? asked : page;
      const found = files.get(name);
      return found === undefined ? reply.callNotFound() : send(request, reply, [name, found]);
    },
  );
}
