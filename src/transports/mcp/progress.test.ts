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

it("progress is told as text that a person sees, and increases until the operation has ended", async () => {
  const rest = [at("running", 10), at("running", 10), at("running", 60), at("succeeded", 100)];
  const told: { progress: number; message: string }[] = [];
  const notify = ({ params }: { params: (typeof told)[number] }) => Promise.resolve(void told.push(params));
  const mcpReq = { _meta: { progressToken: 1 }, signal: new AbortController().signal, notify };
  const read = () => Promise.resolve(rest.shift() ?? at("failed", 0));
  const begun = at("queued", null, "evil\u001b[31m\u202e\u{e0041}");
  const last = await followed(begun, read, { mcpReq } as unknown as ServerContext);
  expect(last.body["status"]).toBe("succeeded");
  expect(told[0]?.message).toBe("queued: evil");
  const figures = told.map(({ progress }) => progress);
  expect(figures).toEqual([...new Set(figures)].sort((a, b) => a - b));
  expect([figures.length, figures.at(-1)]).toEqual([4, 60]);
});
