package dev.sluice.server;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import dev.sluice.http.HttpAnswer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/** JSON answers, and the one form in which anything is refused. */
final class Replies {
  static final MediaType PROBLEM = MediaType.parse(HttpAnswer.PROBLEM_TYPE);

  static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(10).build())
          .build();

  /** Writes members into an object that is already open. */
  @FunctionalInterface
  interface Body {
    void write(JsonGenerator json) throws IOException;
  }

  private Replies() {}

  static HttpResponse ok(Body body) {
    return json(HttpStatus.OK, MediaType.JSON, body);
  }

  static HttpResponse json(HttpStatus status, MediaType type, Body body) {
    byte[] bytes = bytes(body);
    ResponseHeaders headers =
        ResponseHeaders.builder(status)
            .contentType(type)
            .add(HttpHeaderNames.CACHE_CONTROL, "no-store")
            .build();
    return HttpResponse.of(headers, HttpData.wrap(bytes));
  }

  /** A refusal with everything that is wrong. */
  static HttpResponse problem(HttpStatus status, List<String> errors) {
    return json(status, PROBLEM, json -> writeProblem(json, status, errors));
  }

  static HttpResponse problem(HttpStatus status, String error) {
    return problem(status, List.of(error));
  }

  static byte[] problemBytes(HttpStatus status, List<String> errors) {
    return bytes(json -> writeProblem(json, status, errors));
  }

  private static void writeProblem(JsonGenerator json, HttpStatus status, List<String> errors)
      throws IOException {
    json.writeStringField("type", "about:blank");
    json.writeStringField("title", status.reasonPhrase());
    json.writeNumberField("status", status.code());
    json.writeStringField("detail", String.join("; ", errors));
    json.writeArrayFieldStart("errors");
    for (String error : errors) {
      json.writeString(error);
    }
    json.writeEndArray();
  }

  private static byte[] bytes(Body body) {
    try (ByteArrayBuilder buffer = new ByteArrayBuilder(512);
        JsonGenerator json = JSON.createGenerator(buffer)) {
      json.writeStartObject();
      body.write(json);
      json.writeEndObject();
      json.flush();
      return buffer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot fail to be written", e);
    }
  }
}
