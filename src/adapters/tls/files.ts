/** The self-signed pair in the state folder. */
export const certName = "tls-cert.pem";
export const keyName = "tls-key.pem";
