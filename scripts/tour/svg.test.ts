import { expect, it } from "vitest";
import { createScreen } from "./screen.ts";
import { drawSvg } from "./svg.ts";

const size = { columns: 20, rows: 4 };

it("the tour draws colours, positions and times of a screen", async () => {
  const screen = createScreen(size, (line) => line);
  await screen.play([{ atMs: 0, text: "a \u001b[31m<b>\u001b[0m   c" }], 1000);
  screen.pause(1000);
  // A spinner writes over its own line.
  await screen.play([{ atMs: 0, text: "\r\u001b[Kdone" }], 1000);
  screen.pause(1000);
  const svg = drawSvg(screen.frames(), screen.nowMs(), size, "x & y");
  expect(svg).toContain("<title>x &amp; y</title>");
  expect(svg).toMatch(
    /<text x="16" textLength="8.4">a<\/text><text x="32.8" textLength="25.2" fill="#f07178">&lt;b&gt;<\/text><text x="83.2" textLength="8.4">c<\/text>/,
  );
  const [first, last] = svg.split("\n").filter((line) => line.startsWith("<g transform"));
  expect(first).toContain('visibility="hidden"><animate');
  expect(first).toContain('values="visible;hidden" keyTimes="0;0.5"');
  expect(last).toContain('visibility="visible"><animate');
  expect(last).toContain('values="hidden;visible" keyTimes="0;0.5"');
  expect(last).toContain(">done</text>");
});

it("the tour keeps lines that have scrolled away", async () => {
  const screen = createScreen(size, (line) => line);
  await screen.play([{ atMs: 0, text: "1\r\n2\r\n3\r\n4\r\n5\r\n6" }], 1000);
  expect(screen.lines()).toHaveLength(6);
  expect(screen.frames().at(-1)?.lines[0]).toMatchObject([{ text: "3" }]);
});
