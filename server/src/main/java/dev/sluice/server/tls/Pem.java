package dev.sluice.server.tls;

import dev.sluice.internal.Text;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.security.auth.x500.X500Principal;

/** Reads certificates and private keys in PEM. No message contains a part of a key. */
final class Pem {
  private static final String BEGIN = "-----BEGIN ";
  private static final String DASHES = "-----";
  private static final String CERTIFICATE = "CERTIFICATE";
  private static final String KEY = "PRIVATE KEY";

  private Pem() {}

  /** A block between its BEGIN and END lines. */
  private record Block(String label, byte[] bytes) {}

  /** A private key, and the chain of certificates that belongs to it. */
  public record Pair(PrivateKey key, List<X509Certificate> chain) {}

  /** Reads a certificate, those that signed it, and its key; they must belong together. */
  public static Pair pair(Path chainFile, byte[] chainBytes, Path keyFile, byte[] keyBytes) {
    List<X509Certificate> chain = certificates(chainFile, chainBytes);
    PrivateKey key = key(keyFile, keyBytes);
    for (int i = 1; i < chain.size(); i++) {
      X500Principal issuer = chain.get(i - 1).getIssuerX500Principal();
      X500Principal next = chain.get(i).getSubjectX500Principal();
      if (!issuer.equals(next)) {
        throw bad(
            chainFile,
            "certificate %d is that of %s".formatted(i + 1, Text.quoted(next.getName())),
            "that of %s, which signed the one before it".formatted(Text.quoted(issuer.getName())));
      }
    }
    if (!belong(key, chain.get(0).getPublicKey())) {
      throw bad(
          keyFile,
          "is not the key of the first certificate in " + chainFile,
          "the key that the certificate was made with");
    }
    return new Pair(key, chain);
  }

  /** Reads all certificates of a file, at least one. */
  public static List<X509Certificate> certificates(Path file, byte[] bytes) {
    List<X509Certificate> found = new ArrayList<>();
    try {
      CertificateFactory factory = CertificateFactory.getInstance("X.509");
      for (Block block : blocks(file, bytes)) {
        if (block.label.equals(CERTIFICATE)) {
          found.add(
              (X509Certificate) factory.generateCertificate(new ByteArrayInputStream(block.bytes)));
        }
      }
    } catch (CertificateException e) {
      throw bad(file, "certificate %d cannot be read".formatted(found.size() + 1), "X.509 in PEM");
    }
    if (found.isEmpty()) {
      throw bad(file, "no certificate", "PEM that begins with -----BEGIN CERTIFICATE-----");
    }
    return List.copyOf(found);
  }

  private static PrivateKey key(Path file, byte[] bytes) {
    List<Block> keys =
        blocks(file, bytes).stream().filter(block -> block.label.endsWith(KEY)).toList();
    if (keys.size() != 1) {
      throw bad(file, keys.size() + " private keys", "one, in PKCS#8: -----BEGIN PRIVATE KEY-----");
    }
    Block block = keys.get(0);
    if (!block.label.equals(KEY)) {
      throw bad(
          file,
          "the form is " + Text.quoted(block.label),
          "PKCS#8 without a password, as openssl pkcs8 -topk8 -nodes writes it");
    }
    for (String algorithm : List.of("RSA", "EC")) {
      try {
        return KeyFactory.getInstance(algorithm)
            .generatePrivate(new PKCS8EncodedKeySpec(block.bytes));
      } catch (InvalidKeySpecException e) {
        // Perhaps it is one of the next algorithm.
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException("every JVM has " + algorithm, e);
      }
    }
    throw bad(file, "the private key cannot be read", "an RSA or EC key in PKCS#8");
  }

  /** Whether what the private key signs can be verified with the public key. */
  private static boolean belong(PrivateKey key, PublicKey certified) {
    byte[] text = "sluice".getBytes(StandardCharsets.UTF_8);
    try {
      Signature signature =
          Signature.getInstance(
              key.getAlgorithm().equals("RSA") ? "SHA256withRSA" : "SHA256withECDSA");
      signature.initSign(key);
      signature.update(text);
      byte[] signed = signature.sign();
      signature.initVerify(certified);
      signature.update(text);
      return signature.verify(signed);
    } catch (GeneralSecurityException e) {
      return false; // keys of two algorithms, or of two sizes
    }
  }

  private static List<Block> blocks(Path file, byte[] bytes) {
    String text = new String(bytes, StandardCharsets.ISO_8859_1);
    List<Block> found = new ArrayList<>();
    int at = text.indexOf(BEGIN);
    while (at >= 0) {
      int labelEnd = text.indexOf(DASHES, at + BEGIN.length());
      String label = labelEnd < 0 ? "" : text.substring(at + BEGIN.length(), labelEnd);
      String last = "-----END " + label + DASHES;
      int end = labelEnd < 0 ? -1 : text.indexOf(last, labelEnd);
      if (end < 0) {
        throw bad(file, "PEM block %d has no end".formatted(found.size() + 1), "a whole file");
      }
      try {
        String body = text.substring(labelEnd + DASHES.length(), end);
        found.add(new Block(label, Base64.getMimeDecoder().decode(body)));
      } catch (IllegalArgumentException e) {
        throw bad(file, "PEM block %d is not Base64".formatted(found.size() + 1), "a whole file");
      }
      at = text.indexOf(BEGIN, end + last.length());
    }
    return found;
  }

  private static IllegalArgumentException bad(Path file, String found, String expected) {
    return new IllegalArgumentException("%s  %s (expected: %s)".formatted(file, found, expected));
  }
}
