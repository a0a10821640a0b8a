package dev.sluice.server.api;

import dev.sluice.internal.Text;
import dev.sluice.redis.SharedKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The random keys that seal receipts. Never printed, and never made from the admin token. */
public interface ReceiptKeys extends AutoCloseable {
  /** Every key that opens receipts; the first seals. The same list until the keys change. */
  List<byte[]> keys();

  /** Takes a new key; the one before still opens receipts. */
  CompletionStage<Void> rotate();

  @Override
  default void close() {}

  /** A key of this process alone: receipts are good until it ends. */
  static ReceiptKeys ofProcess() {
    return new OfProcess();
  }

  /** The keys of every service that uses the same Redis. */
  static ReceiptKeys ofRedis(String uri) {
    return new OfRedis(SharedKeys.open(uri));
  }

  /** The keys in a file: one line of 64 hex digits, and perhaps another with the key before. */
  static ReceiptKeys ofFile(Path file) {
    return new OfFile(OfFile.read(file));
  }

  /** Keys that end with the process. */
  final class OfProcess implements ReceiptKeys {
    private volatile List<byte[]> keys = List.of(random());

    private OfProcess() {}

    private static byte[] random() {
      byte[] key = new byte[SharedKeys.BYTES];
      new SecureRandom().nextBytes(key);
      return key;
    }

    @Override
    public List<byte[]> keys() {
      return keys;
    }

    @Override
    public synchronized CompletionStage<Void> rotate() {
      keys = List.of(random(), keys.get(0));
      return CompletableFuture.completedFuture(null);
    }
  }

  /** Keys that services share through Redis. */
  final class OfRedis implements ReceiptKeys {
    private final SharedKeys shared;

    private OfRedis(SharedKeys shared) {
      this.shared = shared;
    }

    @Override
    public List<byte[]> keys() {
      return shared.keys();
    }

    @Override
    public CompletionStage<Void> rotate() {
      return shared.rotate();
    }

    @Override
    public void close() {
      shared.close();
    }
  }

  /** Keys that the operator keeps. */
  final class OfFile implements ReceiptKeys {
    private final List<byte[]> keys;

    private OfFile(List<byte[]> keys) {
      this.keys = keys;
    }

    private static List<byte[]> read(Path file) {
      List<String> lines;
      try {
        lines = Files.readAllLines(file).stream().map(String::strip).toList();
      } catch (IOException e) {
        throw new IllegalArgumentException(
            "receipt key file: %s cannot be read".formatted(Text.quoted(file.toString())), e);
      }
      List<byte[]> keys = new ArrayList<>();
      for (String line : lines) {
        if (line.matches("[0-9a-fA-F]{64}")) {
          keys.add(HexFormat.of().parseHex(line));
        }
      }
      if (keys.size() != lines.size() || keys.isEmpty() || keys.size() > 2) {
        throw new IllegalArgumentException(
            ("receipt key file: %s has %d lines, %d of them keys (expected: one line of 64 hex"
                    + " digits, as openssl rand -hex 32 prints it, and the key before it in a second"
                    + " line if there is one)")
                .formatted(Text.quoted(file.toString()), lines.size(), keys.size()));
      }
      return List.copyOf(keys);
    }

    @Override
    public List<byte[]> keys() {
      return keys;
    }

    @Override
    public CompletionStage<Void> rotate() {
      throw new IllegalArgumentException(
          "receipts: their key comes from a file (expected: put a new key before the old one in"
              + " --receipt-key-file, and start the services again)");
    }
  }
}
