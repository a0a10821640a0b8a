package dev.sluice.server;

import java.net.http.HttpRequest;

/** The session of an operator in the console of a service, as a page of it uses the session. */
record ConsoleSession(Sluice sluice, String cookie) {
  static final String PATH = "/console/api/session";

  static ConsoleSession begin(Sluice sluice, String token) {
    String set = signIn(sluice, token).header("set-cookie");
    return new ConsoleSession(sluice, set.substring(0, set.indexOf(';')));
  }

  static Sluice.Answer signIn(Sluice sluice, String token) {
    return sluice.send(fromPage(sluice, "POST", PATH, "{\"token\": \"%s\"}".formatted(token)));
  }

  /** A request that a browser would send for a page of the console. */
  static HttpRequest.Builder fromPage(Sluice sluice, String method, String path, String body) {
    return sluice
        .request(method, path)
        .method(method, HttpRequest.BodyPublishers.ofString(body))
        .header("Content-Type", "application/json")
        .header("Sec-Fetch-Site", "same-origin");
  }

  Sluice.Answer get(String path) {
    return sluice.send(sluice.request("GET", "/console/api/" + path).header("Cookie", cookie));
  }

  Sluice.Answer change(String method, String path, String body) {
    return sluice.send(
        fromPage(sluice, method, "/console/api/" + path, body).header("Cookie", cookie));
  }
}
