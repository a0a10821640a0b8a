package dev.sluice.server.http;

import com.linecorp.armeria.common.FlagsProvider;

/** Settings that Armeria has only for a whole process. Found by its service file. */
public final class ArmeriaFlags implements FlagsProvider {
  @Override
  public int priority() {
    return 100;
  }

  /**
   * A connection that ends is closed at once. Armeria waits three seconds for the client to do it;
   * a client of HTTP/1.0 waits for the server, so that each of its requests would take as long.
   */
  @Override
  public Long defaultHttp1ConnectionCloseDelayMillis() {
    return 0L;
  }

  /**
   * A proxy hands the client's own query to the gate, and {@code ?next=../cart} is a good one. No
   * query names a file here.
   */
  @Override
  public Boolean allowDoubleDotsInQueryString() {
    return true;
  }
}
