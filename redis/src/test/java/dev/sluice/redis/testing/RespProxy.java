package dev.sluice.redis.testing;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.regex.Pattern;

/** A proxy between a client and a Redis that parses the protocol and injects faults. */
public final class RespProxy implements AutoCloseable {
  /*
   * Each connection has two threads: one carries commands, one carries replies. Commands that have
   * been carried wait in line for their reply, so a fault is chosen for a command and done to its
   * reply: by then Redis has carried it out. Only an injected error keeps the command from Redis.
   */
  private final ServerSocket listening;
  private final int target;
  private final Set<Pair> pairs = ConcurrentHashMap.newKeySet();
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger carried = new AtomicInteger();
  private volatile Function<Command, Fault> rule = command -> Fault.NONE;

  /**
   * A command on its way: on which connection, counted from 1, and its first word.
   *
   * @param isProbe whether only the store itself wants to know whether Redis is back
   */
  public record Command(int connection, String name, boolean isProbe) {
    private static final Pattern CALLERS_KEY =
        Pattern.compile("s2:\\{[^}]*\\}\\+?:(?!sluice-probe)");

    private static Command of(int connection, byte[] frame) {
      String text = new String(frame, StandardCharsets.UTF_8);
      boolean isProbe = text.contains("sluice-probe") && !CALLERS_KEY.matcher(text).find();
      return new Command(connection, RespProxy.name(frame), isProbe);
    }

    /** Whether it carries calls of callers. */
    public boolean isScript() {
      return !isProbe
          && (name.equals("EVALSHA") || name.equals("FCALL") || name.equals("FCALL_RO"));
    }
  }

  /** What to do to a command or its reply. */
  public record Fault(Kind kind, Duration delay, String line) {
    /** The kinds of harm. */
    public enum Kind {
      NONE,
      /** The reply is swallowed and the connection ends in order. */
      CUT_FIN,
      /** The reply is swallowed and the connection is reset. */
      CUT_RST,
      /** Half of the reply is carried, then the connection ends. */
      CUT_WITHIN,
      /** The reply comes late. */
      DELAY,
      /** The command never reaches Redis; the client gets an error. */
      ERROR
    }

    public static final Fault NONE = of(Kind.NONE);

    public static Fault of(Kind kind) {
      return new Fault(kind, Duration.ZERO, "");
    }

    public static Fault delay(Duration delay) {
      return new Fault(Kind.DELAY, delay, "");
    }

    public static Fault error(String line) {
      return new Fault(Kind.ERROR, Duration.ZERO, line);
    }
  }

  private RespProxy(int target) {
    this.target = target;
    try {
      this.listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    start("proxy-accept", this::accept);
  }

  public static RespProxy before(RedisProcess server) {
    return new RespProxy(server.port());
  }

  public String uri() {
    return "redis://127.0.0.1:" + listening.getLocalPort();
  }

  /** From now on asks for each command what to do to it. */
  public void harming(Function<Command, Fault> chosen) {
    this.rule = chosen;
  }

  /** How many connections there have been. */
  public int connections() {
    return connections.get();
  }

  /** How many script calls Redis was sent. */
  public int scriptCalls() {
    return carried.get();
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket client = listening.accept();
        client.setTcpNoDelay(true);
        Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
        server.setTcpNoDelay(true);
        Pair pair = new Pair(connections.incrementAndGet(), client, server);
        pairs.add(pair);
        start("proxy-commands", () -> pair.carry(pair::carryCommands));
        start("proxy-replies", () -> pair.carry(pair::carryReplies));
      } catch (IOException e) {
        // The server is down or this proxy closes: the client sees a connection that ends at once.
      }
    }
  }

  private static void start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    try {
      listening.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    pairs.forEach(Pair::end);
  }

  private interface Carrying {
    void run() throws IOException, InterruptedException;
  }

  /** A client's connection and the one to Redis that belongs to it. */
  private final class Pair {
    private final int number;
    private final Socket client;
    private final Socket server;
    private final Deque<Fault> unanswered = new ArrayDeque<>();

    Pair(int number, Socket client, Socket server) {
      this.number = number;
      this.client = client;
      this.server = server;
    }

    void carry(Carrying carrying) {
      try {
        carrying.run();
      } catch (IOException | InterruptedException e) {
        // One end is gone: so is the other.
      }
      end();
    }

    void carryCommands() throws IOException {
      InputStream in = new BufferedInputStream(client.getInputStream());
      while (true) {
        byte[] frame = frame(in);
        Command command = Command.of(number, frame);
        Fault fault = rule.apply(command);
        if (fault.kind() == Fault.Kind.ERROR) {
          inject(fault);
        } else {
          if (!command.name().endsWith("SUBSCRIBE")) { // that is answered by messages
            synchronized (unanswered) {
              unanswered.add(fault);
            }
          }
          if (command.isScript()) {
            carried.incrementAndGet();
          }
          server.getOutputStream().write(frame);
        }
      }
    }

    private void inject(Fault fault) throws IOException {
      synchronized (unanswered) {
        if (unanswered.isEmpty()) {
          write(fault.line());
        } else {
          unanswered.add(fault);
        }
      }
    }

    private void write(String line) throws IOException {
      client.getOutputStream().write((line + "\r\n").getBytes(StandardCharsets.UTF_8));
    }

    void carryReplies() throws IOException, InterruptedException {
      InputStream in = new BufferedInputStream(server.getInputStream());
      while (true) {
        byte[] frame = frame(in);
        if (frame[0] == '>') {
          client.getOutputStream().write(frame);
          continue;
        }
        Fault fault;
        synchronized (unanswered) {
          fault = unanswered.isEmpty() ? Fault.NONE : unanswered.poll();
        }
        answer(frame, fault);
        synchronized (unanswered) {
          while (!unanswered.isEmpty() && unanswered.peek().kind() == Fault.Kind.ERROR) {
            write(unanswered.poll().line());
          }
        }
      }
    }

    private void answer(byte[] frame, Fault fault) throws IOException, InterruptedException {
      switch (fault.kind()) {
        case CUT_FIN -> throw new EOFException("cut");
        case CUT_RST -> {
          client.setSoLinger(true, 0);
          throw new EOFException("reset");
        }
        case CUT_WITHIN -> {
          client.getOutputStream().write(frame, 0, frame.length / 2);
          throw new EOFException("cut within");
        }
        case DELAY -> {
          Thread.sleep(fault.delay().toMillis()); // the network is what is slow here
          client.getOutputStream().write(frame);
        }
        default -> client.getOutputStream().write(frame);
      }
    }

    void end() {
      pairs.remove(this);
      try {
        client.close();
        server.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** The first word of a command. */
  private static String name(byte[] frame) {
    String[] lines = new String(frame, StandardCharsets.UTF_8).split("\r\n", 4);
    return lines.length > 2 ? lines[2].toUpperCase(Locale.ROOT) : "";
  }

  /** The bytes of one whole command or reply, of RESP 2 or 3. */
  private static byte[] frame(InputStream in) throws IOException {
    ByteArrayOutputStream frame = new ByteArrayOutputStream();
    copyFrame(in, frame);
    return frame.toByteArray();
  }

  private static void copyFrame(InputStream in, ByteArrayOutputStream to) throws IOException {
    String line = copyLine(in, to);
    char type = line.charAt(0);
    switch (type) {
      case '$', '=', '!' -> {
        int length = Integer.parseInt(line.substring(1));
        if (length >= 0) {
          to.write(in.readNBytes(length + 2));
        }
      }
      case '*', '~', '>', '%' -> {
        int parts = Integer.parseInt(line.substring(1)) * (type == '%' ? 2 : 1);
        for (int i = 0; i < parts; i++) {
          copyFrame(in, to);
        }
      }
      default -> {
        // A line is all of it.
      }
    }
  }

  private static String copyLine(InputStream in, ByteArrayOutputStream to) throws IOException {
    StringBuilder line = new StringBuilder();
    int c;
    while ((c = in.read()) != '\n') {
      if (c < 0) {
        throw new EOFException();
      }
      to.write(c);
      line.append((char) c);
    }
    to.write('\n');
    return line.substring(0, line.length() - 1);
  }
}
