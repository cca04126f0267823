// The library decorates its classes as it is loaded, which takes this.
import "reflect-metadata";

// By name: a bundle does not know the names that CommonJS exports.
export {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
  X509Crl,
} from "@peculiar/x509";
