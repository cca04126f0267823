import type { ServerContext } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import type { Answer } from "./calls.ts";
import { followed } from "./progress.ts";

const at = (status: string, percent: number | null, step = ""): Answer => ({
  status: status === "succeeded" ? 200 : 202,
  bytes: 100,
  isWhole: true,
  body: { id: "1", status, progress: { percent, step } },
});

it("progress is reported as text that a person sees, and increases until the operation has ended", async () => {
  const rest = [at("running", 10), at("running", 10), at("running", 60), at("succeeded", 100)];
  const reported: { progress: number; message: string }[] = [];
  const notify = ({ params }: { params: (typeof reported)[number] }) => Promise.resolve(void reported.push(params));
  const mcpReq = { _meta: { progressToken: 1 }, signal: new AbortController().signal, notify };
  const read = () => Promise.resolve(rest.shift() ?? at("failed", 0));
  const started = at("queued", null, "evil\u001b[31m\u202e\u{e0041}");
  const last = await followed(started, read, { mcpReq } as unknown as ServerContext);
  expect(last.body["status"]).toBe("succeeded");
  expect(reported[0]?.message).toBe("queued: evil");
  const figures = reported.map(({ progress }) => progress);
  expect(figures).toEqual([...new Set(figures)].sort((a, b) => a - b));
  expect([figures.length, figures.at(-1)]).toEqual([4, 60]);
});
