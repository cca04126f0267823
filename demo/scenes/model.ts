import type { Scene } from "../scene.ts";

export const modelUrl = "http://127.0.0.1:11500/v1";

const unit = `[Unit]
Description=Language model of the demo
[Service]
ExecStart=/opt/steward/node_modules/.bin/node /opt/steward/demo/model-server.ts 11500
DynamicUser=yes
MemoryMax=200M
[Install]
WantedBy=multi-user.target
`;

/** A program in the place of a language model: it answers from what it is given, and says that it is none. */
export const model: Scene = {
  says: "a stand-in for a language model listens on the host's loopback, so that explain and chat have somebody to ask",
  async prepare({ host, shell }) {
    await host.writeFile("/etc/systemd/system/demo-model.service", unit);
    await shell("systemctl daemon-reload && systemctl enable --quiet --now demo-model");
  },
};
