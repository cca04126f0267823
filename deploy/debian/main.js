#!/usr/lib/steward/node
// The program as it is installed.
import { enableCompileCache } from "node:module";

// Compiled code that root made when the package was installed. Nobody else can write there: it is what root's tasks run, too.
// For users that it was not made for Node goes on without.
enableCompileCache("/var/cache/steward-code");
await import("./program/program.js");
