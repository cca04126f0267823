export const certName = "tls-cert.pem";
export const keyName = "tls-key.pem";
