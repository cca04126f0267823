import { afterAll, expect, it } from "vitest";
import { seed } from "../support/seed.ts";
import { killApprovals } from "./support/approvals-killed.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

it("approved calls are carried out at most once, and none is lost, over 200 kills at each step", {
  timeout: 1_800_000,
}, async () => {
  await expect(killApprovals(workspace, 200, seed)).resolves.toBeUndefined();
});
