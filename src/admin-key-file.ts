/** In the state folder: the key that the first start makes. */
export const adminKeyFile = "admin.key";
