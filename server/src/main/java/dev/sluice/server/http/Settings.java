package dev.sluice.server.http;

import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import dev.sluice.server.api.Receipts;
import dev.sluice.server.tls.TlsFiles;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The settings of a service. Immutable. */
public final class Settings {
  /** Whatever is within its bounds fits into this, a receipt to be settled too. */
  public static final int SMALLEST_REQUEST_BOUND = Receipts.LONGEST_TEXT + 4 * 1024;

  private final Builder values;

  private Settings(Builder values) {
    this.values = values;
  }

  public static Settings defaults() {
    return builder().build();
  }

  /** Starts with the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** Starts with these settings. */
  public Builder toBuilder() {
    return new Builder(values);
  }

  public String host() {
    return values.host;
  }

  public int port() {
    return values.port;
  }

  /** The files for TLS; empty if the service speaks plain HTTP. */
  public Optional<TlsFiles> tls() {
    return Optional.ofNullable(values.tls);
  }

  public ClientAddress client() {
    return values.client;
  }

  public InstantSource clock() {
    return values.clock;
  }

  public HeaderProfile headers() {
    return values.headers;
  }

  public int mostConnections() {
    return values.mostConnections;
  }

  public int mostInFlight() {
    return values.mostInFlight;
  }

  public int mostRequestBytes() {
    return values.mostRequestBytes;
  }

  public Duration requestTimeout() {
    return values.requestTimeout;
  }

  /** What is shown of the name of the store. */
  public String storeName() {
    return values.storeName;
  }

  /** Where the rules come from, for the audit trail. */
  public String rulesName() {
    return values.rulesName;
  }

  /** Whether there is a console. */
  public boolean console() {
    return values.console;
  }

  /** Whether this service shares a summary of its decisions. */
  public boolean reports() {
    return values.reports;
  }

  public Duration drainDelay() {
    return values.drainDelay;
  }

  public Duration drainTimeout() {
    return values.drainTimeout;
  }

  /** Builds settings. */
  public static final class Builder {
    private String host = "127.0.0.1";
    private int port;
    private @Nullable TlsFiles tls;
    private ClientAddress client = ClientAddress.ofPeer();
    private InstantSource clock = InstantSource.system();
    private HeaderProfile headers = HeaderProfile.BOTH;
    private int mostConnections = 10_000;
    private int mostInFlight = 10_000;
    private int mostRequestBytes = 256 * 1024;
    private Duration requestTimeout = Duration.ofSeconds(10);
    private String storeName = "memory";
    private String rulesName = "rules";
    private boolean console = true;
    private boolean reports = true;
    private Duration drainDelay = Duration.ZERO;
    private Duration drainTimeout = Duration.ofSeconds(10);

    private Builder() {}

    private Builder(Builder from) {
      this.host = from.host;
      this.port = from.port;
      this.tls = from.tls;
      this.client = from.client;
      this.clock = from.clock;
      this.headers = from.headers;
      this.mostConnections = from.mostConnections;
      this.mostInFlight = from.mostInFlight;
      this.mostRequestBytes = from.mostRequestBytes;
      this.requestTimeout = from.requestTimeout;
      this.storeName = from.storeName;
      this.rulesName = from.rulesName;
      this.console = from.console;
      this.reports = from.reports;
      this.drainDelay = from.drainDelay;
      this.drainTimeout = from.drainTimeout;
    }

    /** What is shown of the name of the store, so without a password. */
    public Builder storeName(String storeName) {
      this.storeName = storeName;
      return this;
    }

    /** Where the rules come from. */
    public Builder rulesName(String rulesName) {
      this.rulesName = rulesName;
      return this;
    }

    public Builder console(boolean console) {
      this.console = console;
      return this;
    }

    public Builder reports(boolean reports) {
      this.reports = reports;
      return this;
    }

    public Builder host(String host) {
      this.host = host;
      return this;
    }

    /** 0, the default, for any free one. */
    public Builder port(int port) {
      this.port = port;
      return this;
    }

    /** Speaks HTTPS only; null, the default, for plain HTTP. */
    public Builder tls(@Nullable TlsFiles tls) {
      this.tls = tls;
      return this;
    }

    public Builder client(ClientAddress client) {
      this.client = client;
      return this;
    }

    /**
     * The time for wrong tokens and client certificates; everything else follows the store's clock.
     */
    public Builder clock(InstantSource clock) {
      this.clock = clock;
      return this;
    }

    public Builder headers(HeaderProfile headers) {
      this.headers = headers;
      return this;
    }

    public Builder mostConnections(int mostConnections) {
      this.mostConnections = mostConnections;
      return this;
    }

    /** Requests in work at once; one more is answered 503. */
    public Builder mostInFlight(int mostInFlight) {
      this.mostInFlight = mostInFlight;
      return this;
    }

    /** The largest body that is read. */
    public Builder mostRequestBytes(int mostRequestBytes) {
      this.mostRequestBytes = mostRequestBytes;
      return this;
    }

    public Builder requestTimeout(Duration requestTimeout) {
      this.requestTimeout = requestTimeout;
      return this;
    }

    /**
     * How long a stopping service still takes new connections, so that a balancer can see that it
     * is not ready.
     */
    public Builder drainDelay(Duration drainDelay) {
      this.drainDelay = drainDelay;
      return this;
    }

    /** How long a stopping service waits for what is in work. */
    public Builder drainTimeout(Duration drainTimeout) {
      this.drainTimeout = drainTimeout;
      return this;
    }

    public Settings build() {
      return new Settings(new Builder(this));
    }
  }
}
