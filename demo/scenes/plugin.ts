import type { Scene } from "../scene.ts";

const directory = "/etc/steward/plugins";
const backup = "/srv/backup/db-2026-01-01.tar.zst";

/** A check plugin of the examples, enabled, that finds the newest backup too old. */
export const plugin: Scene = {
  says: "the check plugin backup-age is enabled, and the newest backup is 30 hours old",
  async prepare({ shell }) {
    await shell(`mkdir -p ${directory} /srv/backup && cp -r /opt/steward/examples/plugins/backup-age ${directory}/`);
    await shell(`chown -R root:root ${directory} && chmod -R go-w,a+rX ${directory}`);
    await shell(`head -c 200000 /dev/zero > ${backup} && touch --date '30 hours ago' ${backup}`);
  },
  async serve({ api }) {
    const { success, message } = await api.enablePlugin({ params: { name: "backup-age" } });
    if (!success) throw new Error(`cannot enable the plugin of the demo: ${message}`);
  },
};
