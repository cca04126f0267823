import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/pages.css";
import "./style/logs.css";
import "./style/host.css";
import "./style/updates.css";
import "uplot/dist/uPlot.min.css";
import { render } from "preact";
import { begin } from "./session.ts";
import { Shell } from "./shell.tsx";

// First of all, so that answers come while the page is made.
void begin();
const root = document.getElementById("app");
if (root !== null) render(<Shell />, root);
