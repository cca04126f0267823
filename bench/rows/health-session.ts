import { compare, type Row } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";
import { loadWithWrk } from "../wrk.ts";

const path = "/api/v1/health";

/** Signs in as a browser does. @returns what a page of its own adds to a `GET` in the session, which has no Origin. */
async function signIn({ url, headers }: Server): Promise<Server["headers"]> {
  const answer = await fetch(`${url}/api/v1/auth/sessions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: headers["X-API-Key"] }),
  });
  const { secret } = (await answer.json()) as { readonly secret: string };
  const [cookie = ""] = answer.headers.get("set-cookie")?.split(";") ?? [];
  return { Cookie: cookie, "X-Steward-Session": secret };
}

export const healthSession: Row = {
  name: "health-session",
  summary: "requests per second of the health status in a session, with both halves, and with a key",
  measure: (options) =>
    withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted" });
      const session = await signIn(server);
      const load = async (headers: Server["headers"]): Promise<number> =>
        (await loadWithWrk(workspace, server, path, headers)).requestsPerSecond;
      const line = await compare(
        {
          work: "`GET /health` in a session, both halves compared",
          peer: "the same with a key",
          unit: "req/s",
          judged: "ours/peer",
          goal: { is: "at least", value: 1 },
        },
        { ours: () => load(session), peer: () => load(server.headers) },
        options,
      );
      return [line];
    }),
};
